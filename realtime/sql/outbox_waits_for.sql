-- The first unfinished event of a key before another one. Bounds of pairs, for the reason
-- that the claim has.
SELECT id
  FROM realtime_outbox
 WHERE (ordering_key, id) > (%(key)s, 0::bigint) AND (ordering_key, id) < (%(key)s, %(id)s)
   AND (status IN ('pending', 'processing') OR next_retry_at IS NOT NULL) AND id > 0
 ORDER BY ordering_key, id
 LIMIT 1
