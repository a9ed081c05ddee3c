-- Only what has not expired: of an expired session others may have told nobody meanwhile.
UPDATE realtime_sessions
   SET expires_at = clock_timestamp() + make_interval(secs => %(seconds)s)
 WHERE sid = ANY(%(sids)s) AND expires_at > clock_timestamp()
RETURNING sid
