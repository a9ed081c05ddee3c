-- The bytes of a claim's mails.
SELECT email_id, raw FROM email_bodies WHERE email_id = ANY (%(ids)s)
