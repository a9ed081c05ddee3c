-- Begins mail anew. Rows are locked in the order of their ids, so that two operators at once
-- wait for each other instead of deadlocking; the state is looked at under the lock, so that
-- a mail that a worker claimed meanwhile is left alone.
WITH eligible AS MATERIALIZED (
    SELECT id
    FROM email_jobs
    WHERE id = ANY (%(ids)s)
      AND status = 'failed'
    ORDER BY id
    FOR UPDATE
)
UPDATE email_jobs AS mail
SET status = 'pending',
    attempts = 0,
    stale_recoveries = 0,
    interruptions = 0,
    outcome = '',
    next_retry_at = NULL,
    -- Somebody still waits for it: those refused for good stay refused. Nobody does: the
    -- operator asks to try them again, their last answers are kept. Who is suppressed still
    -- will be left out again when it is sent.
    recipients = CASE
        WHEN jsonb_path_exists(
            mail.recipients, '$[*] ? (@.state == "pending" || @.state == "accepted")'
        )
        THEN mail.recipients
        ELSE (
            SELECT jsonb_agg(entry || '{"state": "pending"}' ORDER BY place)
            FROM jsonb_array_elements(mail.recipients) WITH ORDINALITY AS entries (entry, place)
        )
    END
FROM eligible
WHERE mail.id = eligible.id
RETURNING mail.id
