-- What keeps mail back, read before each claim: whether the channel is paused, and the domains
-- that are left alone with the seconds until each may be tried. One round trip for both.
SELECT EXISTS (
        SELECT FROM email_channels WHERE fingerprint = %(fingerprint)s AND paused_at IS NOT NULL
    ),
    (
        SELECT json_object_agg(
            domain,
            extract(epoch FROM next_allowed_at - coalesce(%(now)s, statement_timestamp()))
        )
        FROM (SELECT domain, next_allowed_at FROM email_domains LIMIT %(most)s) AS known
    )
