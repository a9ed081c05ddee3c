-- Makes what is missing of the site's role and database; run at every start, so that one
-- that was interrupted, or a dropped database, is made good by the next.
SELECT 'CREATE ROLE engineroom LOGIN CREATEDB'
 WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'engineroom')
\gexec
GRANT pg_monitor TO engineroom;
ALTER ROLE engineroom PASSWORD :'role_password';
ALTER ROLE postgres PASSWORD :'superuser_password';
SELECT 'CREATE DATABASE engineroom OWNER engineroom'
 WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'engineroom')
\gexec
