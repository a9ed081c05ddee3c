-- The sockets on a topic of those who may read a row, by their users. An expired session is
-- left out: nobody says any more that its socket is still there. The time tells later which
-- sessions this could not know.
SELECT statement_timestamp(), coalesce(jsonb_object_agg(user_key, sids), '{}')
  FROM (
        SELECT user_key, array_agg(sid ORDER BY sid) AS sids
          FROM realtime_sessions
         WHERE topics @> ARRAY[%(topic)s]::varchar[]
           AND user_key = ANY(%(users)s::text[])
           AND expires_at > statement_timestamp()
         GROUP BY user_key
       ) AS connected
