-- Messages by their numbers, in the order of their transactions.
SELECT id, message FROM realtime_bus WHERE id = ANY(%(numbers)s) ORDER BY txid, id
