WITH "suspect" (id,
    "sort_0",
    "sort_1") AS MATERIALIZED (
SELECT "testapp_crates"."id" AS "pk", COALESCE("testapp_crates"."next_retry_at",
    "testapp_crates"."created_at") AS "sort_0",
    "testapp_crates"."id" AS "sort_1"
  FROM "testapp_crates"
  WHERE ("testapp_crates"."status" = 'processing' AND "testapp_crates"."lease_expires_at" < (statement_timestamp()) AND "testapp_crates"."begun_at" IS NOT NULL AND NOT ("testapp_crates"."attempts" >= 3))
  ORDER BY "testapp_crates"."lease_expires_at" ASC,
    "testapp_crates"."id" ASC
  LIMIT 1
  FOR UPDATE SKIP LOCKED
),
"pending" (id,
    "sort_0",
    "sort_1") AS MATERIALIZED (
SELECT "testapp_crates"."id" AS "pk", COALESCE("testapp_crates"."next_retry_at",
    "testapp_crates"."created_at") AS "sort_0",
    "testapp_crates"."id" AS "sort_1"
  FROM "testapp_crates"
  WHERE ("testapp_crates"."next_retry_at" IS NULL AND "testapp_crates"."status" = 'pending' AND NOT EXISTS (SELECT 1
  FROM suspect))
  ORDER BY "testapp_crates"."id" ASC
  LIMIT 5
  FOR UPDATE SKIP LOCKED
),
"retry" (id,
    "sort_0",
    "sort_1") AS MATERIALIZED (
SELECT "testapp_crates"."id" AS "pk", COALESCE("testapp_crates"."next_retry_at",
    "testapp_crates"."created_at") AS "sort_0",
    "testapp_crates"."id" AS "sort_1"
  FROM "testapp_crates"
  WHERE ("testapp_crates"."next_retry_at" <= (statement_timestamp()) AND ("testapp_crates"."status" = 'pending' OR ("testapp_crates"."attempts" < 3 AND "testapp_crates"."status" = 'failed')) AND NOT EXISTS (SELECT 1
  FROM suspect))
  ORDER BY "testapp_crates"."next_retry_at" ASC,
    "testapp_crates"."id" ASC
  LIMIT 5
  FOR UPDATE SKIP LOCKED
),
"unbegun" (id,
    "sort_0",
    "sort_1") AS MATERIALIZED (
SELECT "testapp_crates"."id" AS "pk", COALESCE("testapp_crates"."next_retry_at",
    "testapp_crates"."created_at") AS "sort_0",
    "testapp_crates"."id" AS "sort_1"
  FROM "testapp_crates"
  WHERE ("testapp_crates"."status" = 'processing' AND "testapp_crates"."lease_expires_at" < (statement_timestamp()) AND "testapp_crates"."begun_at" IS NULL AND NOT EXISTS (SELECT 1
  FROM suspect))
  ORDER BY "testapp_crates"."lease_expires_at" ASC,
    "testapp_crates"."id" ASC
  LIMIT 5
  FOR UPDATE SKIP LOCKED
),
due AS MATERIALIZED (
SELECT id, arm, row_number() OVER (ORDER BY sort_0 ASC, sort_1 ASC) AS position
FROM (SELECT *, 'suspect' AS arm
  FROM "suspect"
UNION ALL SELECT *, 'pending' AS arm
  FROM "pending"
UNION ALL SELECT *, 'retry' AS arm
  FROM "retry"
UNION ALL SELECT *, 'unbegun' AS arm
  FROM "unbegun") AS candidates
ORDER BY sort_0 ASC, sort_1 ASC
  LIMIT 5
)
UPDATE "testapp_crates"
  SET "status" = 'processing',
    "claimed_at" = clock_timestamp(),
    "claimed_by" = :worker,
    "claim_token" = :token,
    "begun_at" = NULL,
    "next_retry_at" = NULL,
    "stale_recoveries" = ("testapp_crates"."stale_recoveries" + CASE WHEN ("testapp_crates"."begun_at" IS NOT NULL AND "testapp_crates"."status" = 'processing') THEN 1 ELSE 0 END),
    "lease_expires_at" = (clock_timestamp() + '0:01:00'::interval),
    "attempts" = (("testapp_crates"."attempts" + 1) - CASE WHEN ("testapp_crates"."begun_at" IS NULL AND "testapp_crates"."status" = 'processing') THEN 1 ELSE 0 END)
FROM due
WHERE "testapp_crates"."id" = ANY (ARRAY(SELECT id
  FROM due)) AND "testapp_crates"."id" = due.id
RETURNING "testapp_crates"."attempts",
    "testapp_crates"."stale_recoveries",
    "testapp_crates"."interruptions",
    "testapp_crates"."claimed_at",
    "testapp_crates"."last_error",
    "testapp_crates"."created_at",
    "testapp_crates"."lease_expires_at",
    "testapp_crates"."id",
    "testapp_crates"."instruction", due.position, due.arm
