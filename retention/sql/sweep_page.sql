-- Deletes what is due of the next page of keys; says how many rows, whether there may be more,
-- and where the page ends.
-- For rows whose age is that of another row: no index has them in the order of age, so they are
-- walked by their own key, a bounded page at a time, whether or not anything on it is due.
WITH page AS MATERIALIZED (
  {page}
  LIMIT {limit}
),
gone AS (
  DELETE FROM {rows}
  WHERE ctid = ANY (ARRAY (
    {due}
    FOR UPDATE OF {rows} SKIP LOCKED
  ))
  RETURNING {key} AS swept_key
){along}
SELECT
  (SELECT count(*) FROM gone),
  (SELECT count(*) > 0 FROM page),
  (SELECT swept_key FROM page ORDER BY swept_key DESC LIMIT 1)
