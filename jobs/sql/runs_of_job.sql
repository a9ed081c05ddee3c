-- The newest runs of a job, and beside each how long its runs take: median, 95th percentile
-- and longest of the newest thousand within the days. Read once, by the index of its runs; a
-- row that short passes were folded into has no duration of its own. A job without runs has
-- one row of nothing.
-- The array of one id, and the order by it, leave the planner no index but that of the job's
-- runs: with an equality it reads the newest rows of all jobs backwards, and for a job that has
-- no run among them the whole ledger (2,000,000 rows: over a second).
WITH newest AS (
  SELECT id, status, trigger, scheduled_for, started_at, finished_at, passes, count
  FROM job_runs
  WHERE job_id = ANY (ARRAY[%(job_id)s]::text[])
  ORDER BY job_id, id DESC
  LIMIT %(looked_through)s
),
durations AS (
  SELECT
    percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS p50_seconds,
    percentile_cont(0.95) WITHIN GROUP (ORDER BY seconds) AS p95_seconds,
    max(seconds) AS longest_seconds
  FROM (
    SELECT extract(epoch FROM finished_at - started_at)::double precision AS seconds
    FROM newest
    WHERE status IN ('succeeded', 'failed')
      AND passes = 1
      AND started_at >= %(since)s
      AND finished_at IS NOT NULL
  ) AS taken
)
SELECT %(job_id)s AS job_id, run.*, durations.*
FROM durations
LEFT JOIN LATERAL (
  SELECT * FROM newest ORDER BY id DESC LIMIT %(limit)s
) AS run ON true
ORDER BY run.id DESC
