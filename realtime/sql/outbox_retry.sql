-- Begins failed events anew. Rows are locked in the order of their ids, so that two operators
-- at once wait for each other instead of deadlocking; the state is looked at under the lock.
WITH eligible AS MATERIALIZED (
    SELECT id
      FROM realtime_outbox
     WHERE id = ANY (%(ids)s) AND status = 'failed'
     ORDER BY id
       FOR UPDATE
)
UPDATE realtime_outbox AS event
   SET status = 'pending', attempts = 0, stale_recoveries = 0, interruptions = 0,
       next_retry_at = NULL, finished_at = NULL
  FROM eligible
 WHERE event.id = eligible.id
RETURNING event.id
