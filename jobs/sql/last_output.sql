-- The summary of a job's newest run that succeeded, by the index of its runs.
SELECT output
FROM (
  SELECT id, status, output
  FROM job_runs
  WHERE job_id = %(job_id)s
  ORDER BY id DESC
  LIMIT 50
) AS newest
WHERE status = 'succeeded' AND output IS NOT NULL
ORDER BY id DESC
LIMIT 1
