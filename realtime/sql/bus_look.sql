-- What the bus is at: the snapshot from which to read on, and the clock that prunes it.
-- "is_ahead" tells a database restored from a backup: it has not come to what was seen.
SELECT pg_current_snapshot()::text, clock_timestamp(),
       pg_snapshot_xmin(%(seen)s::text::pg_snapshot) > pg_snapshot_xmax(pg_current_snapshot())
