-- The entries in force for some addresses, as they are stored. In SQL because it is asked of
-- every claim: the ORM took longer to write it than the server to answer.
SELECT address, reason, scope, list_name
FROM email_suppressions
WHERE address = ANY (%(addresses)s)
  AND (until IS NULL OR until > coalesce(%(now)s, statement_timestamp()))
