-- Of each job: its newest passes that ended, with what they counted, and those that go on now.
SELECT job.id AS job_id, run.*
FROM unnest(%(job_ids)s::text[]) AS job (id)
CROSS JOIN LATERAL (
  (
    SELECT id, status, finished_at, progress_done, output
    FROM job_runs
    WHERE job_id = job.id
    ORDER BY id DESC
    LIMIT 50
  )
  UNION
  (
    SELECT id, status, finished_at, progress_done, output
    FROM job_runs
    WHERE job_id = job.id AND status = 'running'
    LIMIT 100
  )
) AS run
ORDER BY run.id
