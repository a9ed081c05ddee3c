-- Of processes that have died; living ones renew theirs.
DELETE FROM realtime_sessions
 WHERE sid IN (SELECT sid FROM realtime_sessions
                WHERE expires_at < clock_timestamp()
                ORDER BY expires_at LIMIT %(batch)s FOR UPDATE SKIP LOCKED)
