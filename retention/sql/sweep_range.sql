-- Deletes the next batch as a range of ages: from where the last one ended up to the age of the
-- first row too many, or all that is left.
-- No row is locked before: the lock of SELECT … FOR UPDATE is a record and a page write of its
-- own for each row, as much again as the deletion. What the lock is for is kept, since the
-- conditions are on the very table: a row renewed meanwhile is read again and spared. But it
-- waits for a row that somebody holds, so it runs under a short lock_timeout.
-- Where it ends is said in a setting of the transaction: RETURNING would fetch every deleted row
-- once more, and a look of its own could see other rows than the deletion.
DELETE FROM {rows}
WHERE {due} AND {age} < (
  SELECT set_config('retention.ends_at', coalesce((
    SELECT {age} FROM {rows} WHERE {due} AND {age} < {cutoff}
    ORDER BY {age} OFFSET {limit} LIMIT 1
  ), {cutoff})::text, true)::{type}
)
