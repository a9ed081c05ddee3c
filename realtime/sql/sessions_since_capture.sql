-- Sockets of those who could read a row that is gone, which subscribed after the others were
-- captured: they may have read the row just before it went. Ten seconds of grace, since a
-- subscription is seen only once it is committed.
SELECT event.id, array_agg(session.sid ORDER BY session.sid)
  FROM realtime_outbox AS event
  JOIN realtime_sessions AS session
    ON session.topics @> ARRAY[event.topic]
   AND jsonb_exists(event.audience -> 'readers', session.user_key)
   AND session.subscribed_at
       >= (event.audience ->> 'captured_at')::timestamptz - interval '10 seconds'
   AND session.expires_at > statement_timestamp()
   AND NOT jsonb_exists(event.audience -> 'sids', session.sid)
 WHERE event.id = ANY(%(ids)s::bigint[])
 GROUP BY event.id
