-- A small batch, oldest first, beside other processes that do the same.
DELETE FROM realtime_bus
 WHERE id IN (SELECT id FROM realtime_bus
               WHERE created_at < clock_timestamp() - make_interval(secs => %(seconds)s)
               ORDER BY created_at LIMIT %(batch)s FOR UPDATE SKIP LOCKED)
