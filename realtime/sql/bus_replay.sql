-- What came on a topic after the message that the client saw last: the higher numbers, and
-- the lower ones that the writer of that message could not see yet, since they may have been
-- committed after it. Those of its own transaction came before it. Without a row of that
-- number nothing can be told, and nothing is returned; with it, a first row always is.
WITH last AS (SELECT id, txid, snapshot FROM realtime_bus WHERE id = %(last)s),
missed AS (
    SELECT bus.id, bus.txid, bus.message
      FROM realtime_bus AS bus, last
     WHERE bus.topic = %(topic)s AND bus.id > last.id
    UNION ALL
    SELECT bus.id, bus.txid, bus.message
      FROM realtime_bus AS bus, last
     WHERE bus.topic = %(topic)s AND bus.id < last.id
       AND bus.txid >= pg_snapshot_xmin(last.snapshot)
       AND NOT pg_visible_in_snapshot(bus.txid, last.snapshot)
       AND bus.txid <> last.txid
)
SELECT missed.id, missed.message
  FROM last LEFT JOIN missed ON true
 ORDER BY missed.txid, missed.id
 LIMIT %(most)s
