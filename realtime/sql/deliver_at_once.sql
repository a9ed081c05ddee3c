-- Delivers the next events that need no claim: locks, completes and puts them on the bus in one
-- transaction, so that nobody can hold a stale claim of them. It leaves to the claim what was
-- tried before, what speaks of rows that are gone (somebody is to be asked who subscribed
-- since), and whatever waits for an earlier event of its key that is not among them.
--
-- A function, since the server then plans it once per connection, behind a pooler too: to plan
-- it takes as long as to run it. No plan of an empty table may outlive the emptiness.
CREATE FUNCTION realtime_deliver_at_once(
    most integer, by text, inline integer, after_at timestamptz, after_id bigint, above bigint,
    OUT looked integer, OUT completed integer, OUT last_at timestamptz, OUT last_id bigint,
    OUT lowest bigint, OUT messages integer
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $function$
#variable_conflict use_column
BEGIN
    WITH first_unfinished (id) AS MATERIALIZED (
        SELECT coalesce((
            SELECT earlier.id
              FROM realtime_outbox AS earlier
             WHERE (earlier.status IN ('pending', 'processing') OR earlier.next_retry_at IS NOT NULL)
               AND earlier.attempts >= 0 AND earlier.id > above
             ORDER BY earlier.id
             LIMIT 1), 0)
    ),
    pending AS MATERIALIZED (
        SELECT id, created_at, event, audience, ordering_key, attempts
          FROM realtime_outbox
         WHERE status = 'pending' AND next_retry_at IS NULL
           AND (created_at, id) > (after_at, after_id)
         ORDER BY created_at, id
         LIMIT most
           FOR UPDATE SKIP LOCKED
    ),
    plain AS MATERIALIZED (
        SELECT id, ordering_key
          FROM pending
         WHERE attempts = 0 AND event NOT IN ('leave', 'resync')
           AND NOT jsonb_exists(audience, 'sids')
    ),
    -- Bounds of pairs, for the reason that the claim has.
    blocked (key, id) AS MATERIALIZED (
        SELECT keys.key, (
            SELECT earlier.id
              FROM realtime_outbox AS earlier
             WHERE (earlier.ordering_key, earlier.id)
                   > (keys.key, (SELECT first_unfinished.id - 1 FROM first_unfinished))
               AND (earlier.ordering_key, earlier.id) < (keys.key, keys.last)
               AND (earlier.status IN ('pending', 'processing') OR earlier.next_retry_at IS NOT NULL)
               AND earlier.id > 0
               AND earlier.id NOT IN (SELECT plain.id FROM plain)
             ORDER BY earlier.ordering_key, earlier.id
             LIMIT 1)
          FROM (SELECT ordering_key AS key, max(plain.id) AS last
                  FROM plain WHERE ordering_key IS NOT NULL GROUP BY ordering_key) AS keys
    ),
    finished AS (
        UPDATE realtime_outbox AS event
           SET status = 'completed', finished_at = clock_timestamp(), attempts = 1
         WHERE event.id = ANY (ARRAY(
                   SELECT plain.id FROM plain
                    WHERE NOT EXISTS (SELECT FROM blocked
                                       WHERE blocked.key = plain.ordering_key
                                         AND blocked.id < plain.id)))
        RETURNING event.id, event.topic, event.event, event.payload, event.audience
    ),
    sent AS (
        INSERT INTO realtime_bus (sender, topic, message)
        SELECT by, topic,
               json_build_object(
                   'kind', 'event', 'topic', topic, 'to', recipients, 'event', event,
                   'payload', payload)
          FROM (SELECT *, CASE audience ->> 'mode'
                              WHEN 'all' THEN jsonb_build_array('topic')
                              WHEN 'restricted' THEN
                                  '["users"]' || nullif(audience -> 'users', '[]')
                          END AS recipients
                  FROM finished) AS addressed
         WHERE recipients IS NOT NULL
         ORDER BY addressed.id
        RETURNING id, message
    ),
    told AS (
        SELECT count(pg_notify('realtime_bus',
                   CASE WHEN octet_length(message) <= inline THEN '1 ' || id || ' ' || message
                        ELSE '2 ' || id END)) AS messages
          FROM (SELECT id, message FROM sent ORDER BY id) AS in_order
    ),
    last_looked AS (
        SELECT created_at, id FROM pending ORDER BY created_at DESC, id DESC LIMIT 1
    )
    -- The messages are asked for, too: nobody would be told otherwise.
    SELECT (SELECT count(*) FROM pending), (SELECT count(*) FROM finished),
           (SELECT created_at FROM last_looked), (SELECT last_looked.id FROM last_looked),
           (SELECT first_unfinished.id FROM first_unfinished), (SELECT told.messages FROM told)
      INTO looked, completed, last_at, last_id, lowest, messages;
END
$function$;
