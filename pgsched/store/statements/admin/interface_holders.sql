-- migrate: the processes that hold a lock on our tables or views or, with views_only, on our views. At most five. Locks
-- nothing.
select distinct l.relation::regclass::text, l.pid from pg_catalog.pg_locks l
  join pg_catalog.pg_class c on c.oid = l.relation join pg_catalog.pg_namespace n on n.oid = c.relnamespace
 where n.nspname in ('pgsched', 'pgsched_internal') and l.granted and l.pid <> pg_catalog.pg_backend_pid()
   and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
   and (c.relkind = 'v' or not %(views_only)s) order by 1 limit 5
