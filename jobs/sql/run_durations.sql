-- How long a job's runs took: median, 95th percentile and longest of its newest runs within the days.
-- A row that short passes were folded into has no duration of its own.
SELECT
  percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS p50_seconds,
  percentile_cont(0.95) WITHIN GROUP (ORDER BY seconds) AS p95_seconds,
  max(seconds) AS longest_seconds
FROM (
  SELECT extract(epoch FROM finished_at - started_at)::double precision AS seconds
  FROM (
    SELECT id, status, passes, started_at, finished_at
    FROM job_runs
    WHERE job_id = %(job_id)s
    ORDER BY id DESC
    LIMIT %(limit)s
  ) AS newest
  WHERE status IN ('succeeded', 'failed')
    AND passes = 1
    AND started_at >= %(since)s
    AND finished_at IS NOT NULL
) AS durations
