-- The newest runs of many jobs in one query, each by the index of its job's runs.
-- The array of one id, and the order by it, leave the planner no index but that of the job's
-- runs: with an equality it reads the newest rows of all jobs backwards, and for a job that has
-- no run among them the whole ledger (2,000,000 rows: over a second).
SELECT job.id AS job_id, run.*
FROM unnest(%(job_ids)s::text[]) AS job (id)
CROSS JOIN LATERAL (
  SELECT id, status, trigger, scheduled_for, started_at, finished_at, passes, count
  FROM job_runs
  WHERE job_id = ANY (ARRAY[job.id])
  ORDER BY job_id, id DESC
  LIMIT %(limit)s
) AS run
ORDER BY job.id, run.id DESC
