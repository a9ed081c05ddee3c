-- Which of the newest unwell runs failed as this one did: the first line of the error is alike.
-- By the index of unwell runs, up to 2,000 of them: an error that fails every minute is found,
-- and a ledger of millions is not read.
SELECT id, created_at
FROM (
  SELECT id, job_id, created_at, split_part(left(error, %(length)s), E'\n', 1) AS head
  FROM job_runs
  WHERE status IN ('failed', 'lost', 'interrupted', 'missed', 'cancelled')
  ORDER BY id DESC
  LIMIT 2000
) AS newest
WHERE job_id = %(job_id)s AND head = %(head)s
ORDER BY id DESC
