-- The last scheduled runs of many jobs, by the index of each job's runs: never the whole ledger.
-- Those that ended count failures in a row; a burst of manual runs or skipped slots between them
-- is looked through up to 2,000 rows. The last slots say what became of the schedule itself.
-- The array of one id, and the order by it, leave the planner no index but that of the job's
-- runs: with an equality it reads the newest rows of all jobs backwards, and for a job that has
-- no run among them the whole ledger (2,000,000 rows: over a second).
SELECT job.id AS job_id, run.*
FROM unnest(%(job_ids)s::text[]) AS job (id)
CROSS JOIN LATERAL (
  (
    SELECT 'ended' AS part, id, status, scheduled_for, started_at, finished_at
    FROM (
      SELECT job_id, id, status, trigger, scheduled_for, started_at, finished_at
      FROM job_runs
      WHERE job_id = ANY (ARRAY[job.id])
      ORDER BY job_id, id DESC
      LIMIT 2000
    ) AS newest
    WHERE trigger IN ('schedule', 'catch_up', 'notify')
      AND status IN ('succeeded', 'failed', 'lost', 'interrupted')
    ORDER BY job_id, id DESC
    LIMIT %(ended)s
  )
  UNION ALL
  (
    SELECT 'slot' AS part, id, status, scheduled_for, started_at, finished_at
    FROM job_runs
    WHERE job_id = job.id AND scheduled_for IS NOT NULL
    ORDER BY scheduled_for DESC
    LIMIT %(slots)s
  )
) AS run
