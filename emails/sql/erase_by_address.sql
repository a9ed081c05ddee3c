-- Erases addresses from one range of the table. A mail to nobody else is cancelled and blanked
-- as a whole; from a mail to several only the recipient goes, and what would name it. The body
-- of a mail that others still wait for is kept until it is sent.
WITH scanned AS MATERIALIZED (
    SELECT id, status, recipients
    FROM email_jobs
    WHERE id > %(after)s
    ORDER BY id
    LIMIT %(limit)s
),
found AS MATERIALIZED (
    SELECT id
    FROM scanned
    WHERE EXISTS (
        SELECT FROM jsonb_array_elements(scanned.recipients) AS entry
        WHERE lower(entry ->> 'address') = ANY (%(keys)s)
    )
),
batch AS MATERIALIZED (
    SELECT mail.id, mail.status, NOT EXISTS (
               SELECT FROM jsonb_array_elements(mail.recipients) AS entry
               WHERE entry ->> 'address' <> ''
                 AND lower(entry ->> 'address') <> ALL (%(keys)s)
           ) AS alone,
           EXISTS (
               SELECT FROM jsonb_array_elements(mail.recipients) AS entry
               WHERE entry ->> 'state' = 'pending'
                 AND lower(entry ->> 'address') <> ALL (%(keys)s)
           ) AND mail.status IN ('pending', 'failed') AS others_wait
    FROM email_jobs AS mail
    JOIN found ON found.id = mail.id
    ORDER BY mail.id
    FOR UPDATE OF mail
),
blanked AS (
    UPDATE email_jobs AS mail
    SET status = CASE
            WHEN mail.status IN ('pending', 'failed') AND NOT batch.others_wait THEN 'cancelled'
            ELSE mail.status
        END,
        next_retry_at = CASE WHEN batch.others_wait THEN mail.next_retry_at END,
        subject = CASE WHEN batch.alone THEN '' ELSE mail.subject END,
        to_display = '',
        last_error = '',
        recipients = (
            SELECT jsonb_agg(CASE
                WHEN lower(entry ->> 'address') = ANY (%(keys)s)
                THEN (entry - 'text') || '{"address": "", "domain": ""}' || CASE
                    WHEN entry ->> 'state' = 'pending' THEN '{"state": "suppressed"}'::jsonb
                    ELSE '{}'::jsonb
                END
                ELSE entry
            END ORDER BY place)
            FROM jsonb_array_elements(mail.recipients) WITH ORDINALITY AS entries (entry, place)
        )
    FROM batch
    WHERE mail.id = batch.id
      AND batch.status <> 'processing'
    RETURNING mail.id, mail.status AS is_now, batch.status AS was
),
bodies AS (
    DELETE FROM email_bodies
    USING batch
    WHERE email_bodies.email_id = batch.id
      AND batch.status <> 'processing'
      AND NOT batch.others_wait
)
SELECT (SELECT count(*) FROM blanked WHERE is_now = 'cancelled' AND was IN ('pending', 'failed')),
       (SELECT count(*) FROM blanked),
       -- Those of the user were counted with the user's own.
       (SELECT count(*) FROM batch JOIN email_jobs AS mail USING (id)
        WHERE batch.status = 'processing' AND (%(user_id)s = '' OR mail.user_id <> %(user_id)s)),
       (SELECT max(id) FROM scanned)
