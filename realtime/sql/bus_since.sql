-- The numbers that were not on the bus for who last looked under the snapshot "seen", in the
-- order of their transactions, and the snapshot and time of this look. A lower number may commit
-- later, so no number says how far somebody has read.
SELECT look.snapshot::text, look.at, bus.id
  FROM (SELECT pg_current_snapshot() AS snapshot, statement_timestamp() AS at) AS look
  LEFT JOIN realtime_bus AS bus
    ON bus.txid >= pg_snapshot_xmin(%(seen)s::text::pg_snapshot)
   AND NOT pg_visible_in_snapshot(bus.txid, %(seen)s::text::pg_snapshot)
 ORDER BY bus.txid, bus.id
