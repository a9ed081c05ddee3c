-- Of each job of the ledger, the oldest of its newest runs and its newest failure.
-- The jobs are found by hopping along the index of their runs: a DISTINCT reads the whole
-- ledger. A job with fewer runs has no oldest one, and keeps all of them.
-- The array of one id and the order by it leave the planner no index but the job's own.
WITH RECURSIVE hop (job_id) AS (
  (SELECT job_id FROM job_runs ORDER BY job_id LIMIT 1)
  UNION ALL
  SELECT (
    SELECT run.job_id FROM job_runs AS run
    WHERE run.job_id > hop.job_id
    ORDER BY run.job_id
    LIMIT 1
  )
  FROM hop
  WHERE hop.job_id IS NOT NULL
)
SELECT
  hop.job_id,
  (
    SELECT run.id FROM job_runs AS run
    WHERE run.job_id = ANY (ARRAY[hop.job_id])
    ORDER BY run.job_id, run.id DESC
    OFFSET %(others)s
    LIMIT 1
  ) AS oldest,
  (
    SELECT run.id FROM job_runs AS run
    WHERE run.job_id = ANY (ARRAY[hop.job_id])
      AND run.status IN ('failed', 'lost', 'interrupted')
    ORDER BY run.job_id, run.id DESC
    LIMIT 1
  ) AS failure
FROM hop
WHERE hop.job_id IS NOT NULL
