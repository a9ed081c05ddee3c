-- Completes events and puts their messages on the bus, in one statement: a worker whose lease
-- was taken over does neither. The token says that they are in work: the status beside it
-- would let the planner read all that was ever in work. Messages keep their order. NOTIFY
-- takes up to 8,000 bytes (not characters); a longer message is told by its number.
WITH finished AS (
    UPDATE realtime_outbox
       SET status = 'completed', finished_at = clock_timestamp(), claimed_at = NULL,
           claimed_by = NULL, claim_token = NULL, begun_at = NULL, lease_expires_at = NULL
     WHERE id = ANY(%(ids)s::bigint[]) AND claim_token = %(token)s
    RETURNING id
),
sent AS (
    INSERT INTO realtime_bus (sender, topic, message)
    SELECT %(sender)s, given.topic, given.message
      FROM unnest(%(owners)s::bigint[], %(topics)s::text[], %(messages)s::text[])
           WITH ORDINALITY AS given (owner, topic, message, place)
      JOIN finished ON finished.id = given.owner
     ORDER BY given.place
    RETURNING id, message
),
told AS (
    SELECT count(pg_notify('realtime_bus',
               CASE WHEN octet_length(message) <= %(inline)s THEN '1 ' || id || ' ' || message
                    ELSE '2 ' || id END)) AS messages
      FROM (SELECT id, message FROM sent ORDER BY id) AS in_order
)
SELECT finished.id, told.messages FROM finished CROSS JOIN told
