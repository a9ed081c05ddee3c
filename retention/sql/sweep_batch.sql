-- Deletes one batch in the order of age; says how many rows, whether there may be more, and
-- where the next batch begins.
-- For what sweep_range cannot do: rows that others go along with, rows of one age that are too
-- many for a batch (at the places that sweep_crowd has found), and those among which somebody
-- holds one.
-- The lock with SKIP LOCKED reads the row again: one that was renewed meanwhile is not deleted,
-- which it is by the same statement without the lock. What somebody else has locked is left.
-- It carries on at the age of the last batch: without that, every batch walks over all rows
-- deleted before it while an old snapshot keeps them (1.7 s became 20.7 s for 600,000 rows).
-- By ctid the DELETE looks up nothing, and takes no row that the SELECT did not lock.
WITH gone AS (
  DELETE FROM {rows}
  WHERE ctid = ANY (ARRAY (
    {due}
    LIMIT {limit}
    FOR UPDATE OF {rows} SKIP LOCKED
  ))
  RETURNING {key} AS swept_key, {age} AS swept_age
){along}
SELECT count(*), count(*) > 0, max(swept_age)::text FROM gone
