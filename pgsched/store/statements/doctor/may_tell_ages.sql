-- doctor: whether this login may ask how long ago a transaction began: pgsched is in the database, and the login is not
-- a client's. Locks nothing.
select exists (
  select from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
   where n.nspname = 'pgsched_internal' and p.proname = 'seconds_since'
     and pg_catalog.has_schema_privilege(n.oid, 'usage') and pg_catalog.has_function_privilege(p.oid, 'execute'))
