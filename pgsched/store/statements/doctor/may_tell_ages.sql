-- doctor: checks whether this login may find out how long ago a transaction began: the database must have pgsched, and
-- the login must not be a client's. Locks nothing.
select exists (
  select from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
   where n.nspname = 'pgsched_internal' and p.proname = 'seconds_since'
     and pg_catalog.has_schema_privilege(n.oid, 'usage') and pg_catalog.has_function_privilege(p.oid, 'execute'))
