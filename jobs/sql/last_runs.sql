-- The newest runs of many jobs in one query, each by the index of its job's runs.
SELECT job.id AS job_id, run.*
FROM unnest(%(job_ids)s::text[]) AS job (id)
CROSS JOIN LATERAL (
  SELECT id, status, trigger, scheduled_for, started_at, finished_at, passes, count
  FROM job_runs
  WHERE job_id = job.id
  ORDER BY id DESC
  LIMIT %(limit)s
) AS run
ORDER BY job.id, run.id DESC
