-- One message of a gateway to the others. The limit of NOTIFY counts bytes.
WITH sent AS (
    INSERT INTO realtime_bus (sender, topic, message)
    VALUES (%(sender)s, '', %(message)s)
    RETURNING id, message
)
SELECT id, pg_notify('realtime_bus',
           CASE WHEN octet_length(message) <= 7800 THEN '1 ' || id || ' ' || message
                ELSE '2 ' || id END)
  FROM sent
