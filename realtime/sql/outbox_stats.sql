-- The outbox in figures. Counts end at 10,000: beyond it the exact number helps nobody. The
-- order of each keeps it on the partial index of its rows.
WITH counts AS (
    SELECT
        (SELECT count(*) FROM (
            SELECT FROM realtime_outbox WHERE status = 'pending' AND next_retry_at IS NULL
             ORDER BY created_at, id LIMIT 10001) AS rows) AS pending,
        (SELECT count(*) FROM (
            SELECT FROM realtime_outbox WHERE status = 'processing'
             ORDER BY lease_expires_at, id LIMIT 10001) AS rows) AS processing,
        (SELECT count(*) FROM (
            SELECT FROM realtime_outbox WHERE next_retry_at IS NOT NULL
             ORDER BY next_retry_at, id LIMIT 10001) AS rows) AS retrying,
        (SELECT count(*) FROM (
            SELECT FROM realtime_outbox WHERE status = 'failed' AND next_retry_at IS NULL
             ORDER BY id DESC LIMIT 10001) AS rows) AS dead,
        (SELECT count(*) FROM (
            SELECT FROM realtime_outbox
             WHERE status = 'completed'
               AND finished_at > statement_timestamp() - interval '1 hour'
             ORDER BY finished_at DESC LIMIT 10001) AS rows) AS completed_last_hour,
        (SELECT count(*) FROM (
            SELECT FROM realtime_sessions WHERE expires_at > statement_timestamp()
             ORDER BY expires_at LIMIT 10001) AS rows) AS sessions
)
SELECT least(pending, 10000) AS pending,
       least(processing, 10000) AS processing,
       least(retrying, 10000) AS retrying,
       least(dead, 10000) AS dead,
       greatest(pending, processing, retrying, dead, completed_last_hour, sessions) > 10000
           AS is_capped,
       (SELECT created_at FROM realtime_outbox
         WHERE status = 'pending' AND next_retry_at IS NULL
         ORDER BY created_at, id LIMIT 1) AS oldest_pending_at,
       least(completed_last_hour, 10000) AS completed_last_hour,
       least(sessions, 10000) AS sessions,
       statement_timestamp() AS read_at
  FROM counts
