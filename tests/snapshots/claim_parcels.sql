WITH "suspect" (id,
    "sort_0",
    "sort_1") AS MATERIALIZED (
SELECT "testapp_parcels"."id" AS "pk", COALESCE("testapp_parcels"."next_retry_at",
    "testapp_parcels"."created_at") AS "sort_0",
    "testapp_parcels"."id" AS "sort_1"
  FROM "testapp_parcels"
  WHERE ("testapp_parcels"."status" = 'processing' AND "testapp_parcels"."claimed_at" < (statement_timestamp() - '0:05:00'::interval) AND "testapp_parcels"."begun_at" IS NOT NULL AND NOT ("testapp_parcels"."attempts" >= 5))
  ORDER BY "testapp_parcels"."claimed_at" ASC,
    "testapp_parcels"."id" ASC
  LIMIT 1
  FOR UPDATE SKIP LOCKED
),
"pending" (id,
    "sort_0",
    "sort_1") AS MATERIALIZED (
SELECT "testapp_parcels"."id" AS "pk", COALESCE("testapp_parcels"."next_retry_at",
    "testapp_parcels"."created_at") AS "sort_0",
    "testapp_parcels"."id" AS "sort_1"
  FROM "testapp_parcels"
  WHERE ("testapp_parcels"."next_retry_at" IS NULL AND "testapp_parcels"."status" = 'pending' AND NOT EXISTS (SELECT 1
  FROM suspect))
  ORDER BY "testapp_parcels"."id" ASC
  LIMIT 5
  FOR UPDATE SKIP LOCKED
),
"retry" (id,
    "sort_0",
    "sort_1") AS MATERIALIZED (
SELECT "testapp_parcels"."id" AS "pk", COALESCE("testapp_parcels"."next_retry_at",
    "testapp_parcels"."created_at") AS "sort_0",
    "testapp_parcels"."id" AS "sort_1"
  FROM "testapp_parcels"
  WHERE ("testapp_parcels"."next_retry_at" <= (statement_timestamp()) AND ("testapp_parcels"."status" = 'pending' OR ("testapp_parcels"."attempts" < 5 AND "testapp_parcels"."status" = 'failed')) AND NOT EXISTS (SELECT 1
  FROM suspect))
  ORDER BY "testapp_parcels"."next_retry_at" ASC,
    "testapp_parcels"."id" ASC
  LIMIT 5
  FOR UPDATE SKIP LOCKED
),
"unbegun" (id,
    "sort_0",
    "sort_1") AS MATERIALIZED (
SELECT "testapp_parcels"."id" AS "pk", COALESCE("testapp_parcels"."next_retry_at",
    "testapp_parcels"."created_at") AS "sort_0",
    "testapp_parcels"."id" AS "sort_1"
  FROM "testapp_parcels"
  WHERE ("testapp_parcels"."status" = 'processing' AND "testapp_parcels"."claimed_at" < (statement_timestamp() - '0:05:00'::interval) AND "testapp_parcels"."begun_at" IS NULL AND NOT EXISTS (SELECT 1
  FROM suspect))
  ORDER BY "testapp_parcels"."claimed_at" ASC,
    "testapp_parcels"."id" ASC
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
UPDATE "testapp_parcels"
  SET "status" = 'processing',
    "claimed_at" = clock_timestamp(),
    "claimed_by" = :worker,
    "claim_token" = :token,
    "begun_at" = NULL,
    "next_retry_at" = NULL,
    "stale_recoveries" = ("testapp_parcels"."stale_recoveries" + CASE WHEN ("testapp_parcels"."begun_at" IS NOT NULL AND "testapp_parcels"."status" = 'processing') THEN 1 ELSE 0 END),
    "attempts" = (("testapp_parcels"."attempts" + 1) - CASE WHEN ("testapp_parcels"."begun_at" IS NULL AND "testapp_parcels"."status" = 'processing') THEN 1 ELSE 0 END)
FROM due
WHERE "testapp_parcels"."id" = ANY (ARRAY(SELECT id
  FROM due)) AND "testapp_parcels"."id" = due.id
RETURNING "testapp_parcels"."attempts",
    "testapp_parcels"."stale_recoveries",
    "testapp_parcels"."interruptions",
    "testapp_parcels"."claimed_at",
    "testapp_parcels"."last_error",
    "testapp_parcels"."created_at",
    "testapp_parcels"."id",
    "testapp_parcels"."address",
    "testapp_parcels"."instruction",
    "testapp_parcels"."delivered_by", due.position, due.arm
