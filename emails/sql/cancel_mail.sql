-- Cancels mail that waits. Rows are locked in the order of their ids, as in retry_mail.sql; a
-- mail that a worker holds is not cancelled, since it may be with the server already.
WITH eligible AS MATERIALIZED (
    SELECT id
    FROM email_jobs
    WHERE id = ANY (%(ids)s)
      AND status IN ('pending', 'failed')
    ORDER BY id
    FOR UPDATE
)
UPDATE email_jobs AS mail
SET status = 'cancelled',
    next_retry_at = NULL
FROM eligible
WHERE mail.id = eligible.id
RETURNING mail.id
