WITH "suspect" (id,
    "sort_0",
    "sort_1",
    "sort_2") AS MATERIALIZED (
SELECT "email_jobs"."id" AS "pk",
    "email_jobs"."priority" AS "sort_0", COALESCE("email_jobs"."next_retry_at",
    "email_jobs"."created_at") AS "sort_1",
    "email_jobs"."id" AS "sort_2"
  FROM "email_jobs"
  WHERE ("email_jobs"."status" = 'processing' AND "email_jobs"."claimed_at" < (statement_timestamp() - '0:05:00'::interval) AND "email_jobs"."begun_at" IS NOT NULL AND NOT ("email_jobs"."stale_recoveries" >= 5))
  ORDER BY "email_jobs"."claimed_at" ASC,
    "email_jobs"."id" ASC
  LIMIT 1
  FOR UPDATE SKIP LOCKED
),
"pending" (id,
    "sort_0",
    "sort_1",
    "sort_2") AS MATERIALIZED (
SELECT "email_jobs"."id" AS "pk",
    "email_jobs"."priority" AS "sort_0", COALESCE("email_jobs"."next_retry_at",
    "email_jobs"."created_at") AS "sort_1",
    "email_jobs"."id" AS "sort_2"
  FROM "email_jobs"
  WHERE ("email_jobs"."next_retry_at" IS NULL AND "email_jobs"."status" = 'pending' AND NOT EXISTS (SELECT 1
  FROM suspect))
  ORDER BY "email_jobs"."priority" DESC,
    "email_jobs"."id" ASC
  LIMIT 5
  FOR UPDATE SKIP LOCKED
),
"retry" (id,
    "sort_0",
    "sort_1",
    "sort_2") AS MATERIALIZED (
SELECT "email_jobs"."id" AS "pk",
    "email_jobs"."priority" AS "sort_0", COALESCE("email_jobs"."next_retry_at",
    "email_jobs"."created_at") AS "sort_1",
    "email_jobs"."id" AS "sort_2"
  FROM "email_jobs"
  WHERE ("email_jobs"."next_retry_at" <= (statement_timestamp()) AND ("email_jobs"."status" = 'pending' OR ("email_jobs"."attempts" < ("email_jobs"."max_attempts") AND "email_jobs"."status" = 'failed')) AND NOT EXISTS (SELECT 1
  FROM suspect))
  ORDER BY "email_jobs"."next_retry_at" ASC,
    "email_jobs"."id" ASC
  LIMIT 5
  FOR UPDATE SKIP LOCKED
),
"unbegun" (id,
    "sort_0",
    "sort_1",
    "sort_2") AS MATERIALIZED (
SELECT "email_jobs"."id" AS "pk",
    "email_jobs"."priority" AS "sort_0", COALESCE("email_jobs"."next_retry_at",
    "email_jobs"."created_at") AS "sort_1",
    "email_jobs"."id" AS "sort_2"
  FROM "email_jobs"
  WHERE ("email_jobs"."status" = 'processing' AND "email_jobs"."claimed_at" < (statement_timestamp() - '0:05:00'::interval) AND "email_jobs"."begun_at" IS NULL AND NOT EXISTS (SELECT 1
  FROM suspect))
  ORDER BY "email_jobs"."claimed_at" ASC,
    "email_jobs"."id" ASC
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
UPDATE "email_jobs"
  SET "status" = 'processing',
    "claimed_at" = clock_timestamp(),
    "claimed_by" = :worker,
    "claim_token" = :token,
    "begun_at" = NULL,
    "next_retry_at" = NULL,
    "stale_recoveries" = ("email_jobs"."stale_recoveries" + CASE WHEN ("email_jobs"."begun_at" IS NOT NULL AND "email_jobs"."status" = 'processing') THEN 1 ELSE 0 END),
    "possible_duplicate" = CASE WHEN "email_jobs"."sending_since" IS NOT NULL THEN true ELSE "email_jobs"."possible_duplicate" END,
    "sending_since" = NULL
FROM due
WHERE "email_jobs"."id" = ANY (ARRAY(SELECT id
  FROM due)) AND "email_jobs"."id" = due.id
RETURNING "email_jobs"."attempts",
    "email_jobs"."interruptions",
    "email_jobs"."claimed_at",
    "email_jobs"."last_error",
    "email_jobs"."created_at",
    "email_jobs"."id",
    "email_jobs"."max_attempts",
    "email_jobs"."recipients",
    "email_jobs"."mail_from",
    "email_jobs"."size",
    "email_jobs"."is_list_mail",
    "email_jobs"."list_name",
    "email_jobs"."expires_at", due.position, due.arm
