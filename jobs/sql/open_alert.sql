-- Opens an alert, or refreshes the one that is open: the unique constraint on rule and subject
-- decides, so that two evaluators never open two. "opened" is true for the one that inserted.
INSERT INTO alerts (rule, subject, detail, evidence, opened_at, last_seen_at, notifications)
VALUES (
  %(rule)s, %(subject)s, %(detail)s, %(evidence)s,
  %(now)s::timestamptz, %(now)s::timestamptz, '[]'
)
ON CONFLICT (rule, subject) WHERE resolved_at IS NULL
DO UPDATE SET
  detail = excluded.detail,
  evidence = excluded.evidence,
  last_seen_at = excluded.last_seen_at
RETURNING id, xmax = 0 AS opened
