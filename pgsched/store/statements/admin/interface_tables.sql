-- migrate: the tables to lock before the interface is replaced, in locking order. Partitions are not locked. The
-- busiest tables come last, so that a process with a view open does not block them needlessly.
select n.nspname, c.relname from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
 where n.nspname in ('pgsched', 'pgsched_internal') and c.relkind in ('r', 'p') and not c.relispartition
   and c.relname <> 'schema_version'
 order by c.relname in ('executions', 'history', 'jobs'), n.nspname, c.relname
