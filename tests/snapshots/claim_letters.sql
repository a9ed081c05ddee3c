WITH "suspect" (id,
    "sort_0",
    "sort_1",
    "sort_2") AS MATERIALIZED (
SELECT "testapp_letters"."id" AS "pk",
    "testapp_letters"."weight" AS "sort_0", COALESCE("testapp_letters"."next_retry_at",
    "testapp_letters"."created_at") AS "sort_1",
    "testapp_letters"."id" AS "sort_2"
  FROM "testapp_letters"
  WHERE ("testapp_letters"."status" = 'processing' AND "testapp_letters"."claimed_at" < (statement_timestamp() - '0:05:00'::interval) AND "testapp_letters"."begun_at" IS NOT NULL AND NOT ("testapp_letters"."stale_recoveries" >= 2))
  ORDER BY "testapp_letters"."claimed_at" ASC,
    "testapp_letters"."id" ASC
  LIMIT 1
  FOR UPDATE SKIP LOCKED
),
"pending" (id,
    "sort_0",
    "sort_1",
    "sort_2") AS MATERIALIZED (
SELECT "testapp_letters"."id" AS "pk",
    "testapp_letters"."weight" AS "sort_0", COALESCE("testapp_letters"."next_retry_at",
    "testapp_letters"."created_at") AS "sort_1",
    "testapp_letters"."id" AS "sort_2"
  FROM "testapp_letters"
  WHERE ("testapp_letters"."next_retry_at" IS NULL AND "testapp_letters"."status" = 'pending' AND NOT EXISTS (SELECT 1
  FROM suspect))
  ORDER BY "testapp_letters"."weight" DESC,
    "testapp_letters"."id" ASC
  LIMIT 5
  FOR UPDATE SKIP LOCKED
),
"retry" (id,
    "sort_0",
    "sort_1",
    "sort_2") AS MATERIALIZED (
SELECT "testapp_letters"."id" AS "pk",
    "testapp_letters"."weight" AS "sort_0", COALESCE("testapp_letters"."next_retry_at",
    "testapp_letters"."created_at") AS "sort_1",
    "testapp_letters"."id" AS "sort_2"
  FROM "testapp_letters"
  WHERE ("testapp_letters"."next_retry_at" <= (statement_timestamp()) AND ("testapp_letters"."status" = 'pending' OR ("testapp_letters"."attempts" < 3 AND "testapp_letters"."status" = 'failed')) AND NOT EXISTS (SELECT 1
  FROM suspect))
  ORDER BY "testapp_letters"."next_retry_at" ASC,
    "testapp_letters"."id" ASC
  LIMIT 5
  FOR UPDATE SKIP LOCKED
),
"unbegun" (id,
    "sort_0",
    "sort_1",
    "sort_2") AS MATERIALIZED (
SELECT "testapp_letters"."id" AS "pk",
    "testapp_letters"."weight" AS "sort_0", COALESCE("testapp_letters"."next_retry_at",
    "testapp_letters"."created_at") AS "sort_1",
    "testapp_letters"."id" AS "sort_2"
  FROM "testapp_letters"
  WHERE ("testapp_letters"."status" = 'processing' AND "testapp_letters"."claimed_at" < (statement_timestamp() - '0:05:00'::interval) AND "testapp_letters"."begun_at" IS NULL AND NOT EXISTS (SELECT 1
  FROM suspect))
  ORDER BY "testapp_letters"."claimed_at" ASC,
    "testapp_letters"."id" ASC
  LIMIT 5
  FOR UPDATE SKIP LOCKED
),
due AS MATERIALIZED (
SELECT id, arm, row_number() OVER (ORDER BY sort_0 DESC, sort_1 ASC, sort_2 ASC) AS position
FROM (SELECT *, 'suspect' AS arm
  FROM "suspect"
UNION ALL SELECT *, 'pending' AS arm
  FROM "pending"
UNION ALL SELECT *, 'retry' AS arm
  FROM "retry"
UNION ALL SELECT *, 'unbegun' AS arm
  FROM "unbegun") AS candidates
ORDER BY sort_0 DESC, sort_1 ASC, sort_2 ASC
  LIMIT 5
)
UPDATE "testapp_letters"
  SET "status" = 'processing',
    "claimed_at" = clock_timestamp(),
    "claimed_by" = :worker,
    "claim_token" = :token,
    "begun_at" = NULL,
    "next_retry_at" = NULL,
    "stale_recoveries" = ("testapp_letters"."stale_recoveries" + CASE WHEN ("testapp_letters"."begun_at" IS NOT NULL AND "testapp_letters"."status" = 'processing') THEN 1 ELSE 0 END)
FROM due
WHERE "testapp_letters"."id" = ANY (ARRAY(SELECT id
  FROM due)) AND "testapp_letters"."id" = due.id
RETURNING "testapp_letters"."attempts",
    "testapp_letters"."stale_recoveries",
    "testapp_letters"."interruptions",
    "testapp_letters"."claimed_at",
    "testapp_letters"."last_error",
    "testapp_letters"."created_at",
    "testapp_letters"."id",
    "testapp_letters"."instruction",
    "testapp_letters"."weight", due.position, due.arm
