-- Where mails on their way have got to, those of all connections in one commit: their server
-- has taken them (sent), their final dot goes out next (dot), or their first command does
-- (begun). Each is fenced by the token of its claim. One UPDATE and not one per step: what
-- PostgreSQL prepares for each, such as the table's CHECKs, costs more than the row. Found by
-- an array of ids, so that no statistics make PostgreSQL read the table as a whole.
UPDATE email_jobs AS mail
SET status = CASE step.name WHEN 'sent' THEN 'sent' ELSE mail.status END,
    begun_at = CASE step.name
        WHEN 'begun' THEN coalesce({now}::timestamptz, clock_timestamp())
        WHEN 'dot' THEN mail.begun_at
    END,
    sending_since = CASE step.name
        WHEN 'dot' THEN coalesce({now}::timestamptz, clock_timestamp())
    END,
    sent_at = CASE step.name
        WHEN 'sent' THEN coalesce({now}::timestamptz, clock_timestamp())
    END,
    claimed_at = CASE WHEN step.name <> 'sent' THEN mail.claimed_at END,
    claimed_by = CASE WHEN step.name <> 'sent' THEN mail.claimed_by END,
    claim_token = CASE WHEN step.name <> 'sent' THEN mail.claim_token END,
    recipients = coalesce(step.recipients, mail.recipients),
    outcome = coalesce(step.outcome, mail.outcome),
    last_error = CASE step.name WHEN 'sent' THEN '' ELSE mail.last_error END,
    last_code = coalesce(step.code, mail.last_code)
FROM jsonb_to_recordset({steps}::jsonb)
    AS step (id bigint, token uuid, name text, recipients jsonb, outcome text, code smallint)
WHERE mail.id = ANY ({ids}::bigint[])
  AND mail.id = step.id
  AND mail.claim_token = step.token
RETURNING mail.id
