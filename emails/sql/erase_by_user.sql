-- Erases one batch of a user's mail, by the index on user_id. What a worker holds at the
-- moment is counted and left: it would write the addresses again.
WITH batch AS MATERIALIZED (
    SELECT id, status
    FROM email_jobs
    WHERE user_id = %(user_id)s
      AND id > %(after)s
    ORDER BY id
    LIMIT %(limit)s
    FOR UPDATE
),
blanked AS (
    UPDATE email_jobs AS mail
    SET status = CASE WHEN mail.status IN ('pending', 'failed') THEN 'cancelled' ELSE mail.status END,
        next_retry_at = NULL,
        subject = '',
        to_display = '',
        last_error = '',
        recipients = (
            SELECT coalesce(jsonb_agg(
                (entry - 'text') || '{"address": "", "domain": ""}' || CASE
                    WHEN entry ->> 'state' = 'pending' THEN '{"state": "suppressed"}'::jsonb
                    ELSE '{}'::jsonb
                END ORDER BY place), '[]')
            FROM jsonb_array_elements(mail.recipients) WITH ORDINALITY AS entries (entry, place)
        )
    FROM batch
    WHERE mail.id = batch.id
      AND batch.status <> 'processing'
      -- Blank already: a repeated erasure writes nothing.
      AND (mail.subject <> '' OR mail.to_display <> '' OR mail.last_error <> ''
           OR mail.status IN ('pending', 'failed')
           OR jsonb_path_exists(mail.recipients, '$[*] ? (@.address != "")'))
    RETURNING mail.id, batch.status AS was
),
bodies AS (
    DELETE FROM email_bodies
    USING batch
    WHERE email_bodies.email_id = batch.id
      AND batch.status <> 'processing'
)
SELECT (SELECT count(*) FROM blanked WHERE was IN ('pending', 'failed')),
       (SELECT count(*) FROM blanked),
       (SELECT count(*) FROM batch WHERE status = 'processing'),
       (SELECT max(id) FROM batch)
