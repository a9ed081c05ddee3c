-- The name of a table's foreign key on one column, for an error that names it.
SELECT conname
FROM pg_constraint
JOIN pg_attribute ON attrelid = conrelid AND attnum = ANY (conkey)
WHERE contype = 'f'
  AND conrelid = to_regclass(quote_ident(%(table)s))
  AND attname = %(column)s
ORDER BY conname
LIMIT 1
