-- A socket with the topics that it has now, before its subscription is acknowledged: a row
-- that is deleted from then on is told to it, or the client reads after the delete.
INSERT INTO realtime_sessions (sid, user_key, topics, process_id, subscribed_at, expires_at)
VALUES (%(sid)s, %(user_key)s, %(topics)s, %(process_id)s, clock_timestamp(),
        clock_timestamp() + make_interval(secs => %(seconds)s))
ON CONFLICT (sid) DO UPDATE
   SET topics = EXCLUDED.topics, subscribed_at = EXCLUDED.subscribed_at,
       expires_at = EXCLUDED.expires_at
