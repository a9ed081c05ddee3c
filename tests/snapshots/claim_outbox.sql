WITH lowest (id) AS MATERIALIZED (
SELECT coalesce((
SELECT earlier."id"
  FROM "realtime_outbox" AS earlier
WHERE (earlier.status IN ('pending', 'processing') OR earlier.next_retry_at IS NOT NULL) AND earlier.attempts >= 0 AND earlier."id" > 0
ORDER BY earlier."id"
  LIMIT 1
), 0)
),
"suspect" (id,
    "sort_0",
    "sort_1",
    "key") AS MATERIALIZED (
SELECT "realtime_outbox"."id" AS "pk",
    "realtime_outbox"."id" AS "sort_0",
    "realtime_outbox"."id" AS "sort_1",
    "realtime_outbox"."ordering_key" AS "key"
  FROM "realtime_outbox"
  WHERE ("realtime_outbox"."status" = 'processing' AND "realtime_outbox"."lease_expires_at" < (statement_timestamp()) AND "realtime_outbox"."begun_at" IS NOT NULL AND NOT ("realtime_outbox"."attempts" >= 8) AND (SELECT earlier."id" = "realtime_outbox"."id"
  FROM "realtime_outbox" AS earlier
  WHERE (earlier."ordering_key", earlier."id") > ("realtime_outbox"."ordering_key", (SELECT id - 1
  FROM lowest)) AND (earlier."ordering_key", earlier."id") <= ("realtime_outbox"."ordering_key",
    "realtime_outbox"."id") AND (earlier.status IN ('pending', 'processing') OR earlier.next_retry_at IS NOT NULL) AND earlier."id" > 0
  ORDER BY earlier."ordering_key", earlier."id"
  LIMIT 1) IS NOT FALSE)
  ORDER BY "realtime_outbox"."lease_expires_at" ASC,
    "realtime_outbox"."id" ASC
  LIMIT 1
  FOR UPDATE SKIP LOCKED
),
"pending" (id,
    "sort_0",
    "sort_1",
    "key") AS MATERIALIZED (
SELECT "realtime_outbox"."id" AS "pk",
    "realtime_outbox"."id" AS "sort_0",
    "realtime_outbox"."id" AS "sort_1",
    "realtime_outbox"."ordering_key" AS "key"
  FROM "realtime_outbox"
  WHERE ("realtime_outbox"."next_retry_at" IS NULL AND "realtime_outbox"."status" = 'pending' AND (SELECT earlier.status = 'pending' AND earlier.next_retry_at IS NULL AND (earlier."created_at", earlier."id") <= ("realtime_outbox"."created_at",
    "realtime_outbox"."id")
  FROM "realtime_outbox" AS earlier
  WHERE (earlier."ordering_key", earlier."id") > ("realtime_outbox"."ordering_key", (SELECT id - 1
  FROM lowest)) AND (earlier."ordering_key", earlier."id") <= ("realtime_outbox"."ordering_key",
    "realtime_outbox"."id") AND (earlier.status IN ('pending', 'processing') OR earlier.next_retry_at IS NOT NULL) AND earlier."id" > 0
  ORDER BY earlier."ordering_key", earlier."id"
  LIMIT 1) IS NOT FALSE AND NOT EXISTS (SELECT 1
  FROM suspect))
  ORDER BY "realtime_outbox"."created_at" ASC,
    "realtime_outbox"."id" ASC
  LIMIT 5
  FOR UPDATE SKIP LOCKED
),
"retry" (id,
    "sort_0",
    "sort_1",
    "key") AS MATERIALIZED (
SELECT "realtime_outbox"."id" AS "pk",
    "realtime_outbox"."id" AS "sort_0",
    "realtime_outbox"."id" AS "sort_1",
    "realtime_outbox"."ordering_key" AS "key"
  FROM "realtime_outbox"
  WHERE ("realtime_outbox"."next_retry_at" <= (statement_timestamp()) AND ("realtime_outbox"."status" = 'pending' OR ("realtime_outbox"."attempts" < 8 AND "realtime_outbox"."status" = 'failed')) AND (SELECT earlier."id" = "realtime_outbox"."id"
  FROM "realtime_outbox" AS earlier
  WHERE (earlier."ordering_key", earlier."id") > ("realtime_outbox"."ordering_key", (SELECT id - 1
  FROM lowest)) AND (earlier."ordering_key", earlier."id") <= ("realtime_outbox"."ordering_key",
    "realtime_outbox"."id") AND (earlier.status IN ('pending', 'processing') OR earlier.next_retry_at IS NOT NULL) AND earlier."id" > 0
  ORDER BY earlier."ordering_key", earlier."id"
  LIMIT 1) IS NOT FALSE AND NOT EXISTS (SELECT 1
  FROM suspect))
  ORDER BY "realtime_outbox"."next_retry_at" ASC,
    "realtime_outbox"."id" ASC
  LIMIT 5
  FOR UPDATE SKIP LOCKED
),
"unbegun" (id,
    "sort_0",
    "sort_1",
    "key") AS MATERIALIZED (
SELECT "realtime_outbox"."id" AS "pk",
    "realtime_outbox"."id" AS "sort_0",
    "realtime_outbox"."id" AS "sort_1",
    "realtime_outbox"."ordering_key" AS "key"
  FROM "realtime_outbox"
  WHERE ("realtime_outbox"."status" = 'processing' AND "realtime_outbox"."lease_expires_at" < (statement_timestamp()) AND "realtime_outbox"."begun_at" IS NULL AND (SELECT earlier."id" = "realtime_outbox"."id"
  FROM "realtime_outbox" AS earlier
  WHERE (earlier."ordering_key", earlier."id") > ("realtime_outbox"."ordering_key", (SELECT id - 1
  FROM lowest)) AND (earlier."ordering_key", earlier."id") <= ("realtime_outbox"."ordering_key",
    "realtime_outbox"."id") AND (earlier.status IN ('pending', 'processing') OR earlier.next_retry_at IS NOT NULL) AND earlier."id" > 0
  ORDER BY earlier."ordering_key", earlier."id"
  LIMIT 1) IS NOT FALSE AND NOT EXISTS (SELECT 1
  FROM suspect))
  ORDER BY "realtime_outbox"."lease_expires_at" ASC,
    "realtime_outbox"."id" ASC
  LIMIT 5
  FOR UPDATE SKIP LOCKED
),
blocked (key, id) AS MATERIALIZED (
SELECT keys.key, (
SELECT earlier."id"
  FROM "realtime_outbox" AS earlier
WHERE (earlier."ordering_key", earlier."id") > (keys.key, (SELECT id - 1
  FROM lowest))
AND (earlier."ordering_key", earlier."id") < (keys.key, keys.last)
AND (earlier.status IN ('pending', 'processing') OR earlier.next_retry_at IS NOT NULL) AND earlier."id" > 0
AND earlier."id" NOT IN (SELECT id
  FROM pending)
ORDER BY earlier."ordering_key", earlier."id"
  LIMIT 1
)
  FROM (SELECT key, max(id) AS last
  FROM pending GROUP BY key) AS keys
),
due AS MATERIALIZED (
SELECT id, arm, row_number() OVER (ORDER BY sort_0 ASC, sort_1 ASC) AS position
FROM (SELECT *, 'suspect' AS arm
  FROM "suspect"
UNION ALL SELECT *, 'pending' AS arm
  FROM "pending"
  WHERE NOT EXISTS (SELECT 1
  FROM blocked
  WHERE blocked.key = pending.key AND blocked.id < pending.id)
UNION ALL SELECT *, 'retry' AS arm
  FROM "retry"
UNION ALL SELECT *, 'unbegun' AS arm
  FROM "unbegun") AS candidates
ORDER BY sort_0 ASC, sort_1 ASC
  LIMIT 5
)
UPDATE "realtime_outbox"
  SET "status" = 'processing',
    "claimed_at" = clock_timestamp(),
    "claimed_by" = :worker,
    "claim_token" = :token,
    "begun_at" = clock_timestamp(),
    "next_retry_at" = NULL,
    "stale_recoveries" = ("realtime_outbox"."stale_recoveries" + CASE WHEN ("realtime_outbox"."begun_at" IS NOT NULL AND "realtime_outbox"."status" = 'processing') THEN 1 ELSE 0 END),
    "lease_expires_at" = (clock_timestamp() + '0:01:00'::interval),
    "attempts" = (("realtime_outbox"."attempts" + 1) - CASE WHEN ("realtime_outbox"."begun_at" IS NULL AND "realtime_outbox"."status" = 'processing') THEN 1 ELSE 0 END)
FROM due
WHERE "realtime_outbox"."id" = ANY (ARRAY(SELECT id
  FROM due)) AND "realtime_outbox"."id" = due.id
RETURNING "realtime_outbox"."attempts",
    "realtime_outbox"."stale_recoveries",
    "realtime_outbox"."interruptions",
    "realtime_outbox"."claimed_at",
    "realtime_outbox"."begun_at",
    "realtime_outbox"."last_error",
    "realtime_outbox"."created_at",
    "realtime_outbox"."lease_expires_at",
    "realtime_outbox"."id",
    "realtime_outbox"."topic",
    "realtime_outbox"."event",
    "realtime_outbox"."payload",
    "realtime_outbox"."audience",
    "realtime_outbox"."ordering_key",
    "realtime_outbox"."finished_at", (SELECT id
  FROM lowest), due.position, due.arm
