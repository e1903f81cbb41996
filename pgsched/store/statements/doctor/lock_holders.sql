-- doctor: transactions that have been open longer than `seconds` and hold a lock on a table or index of pgsched that
-- blocks all writers. Only the session's own login and monitors can see when a transaction began. For other logins the
-- start is null, so short transactions are listed, too. Locks nothing.
select l.pid, coalesce(nullif(a.application_name, ''), 'without a name') as name, l.mode, min(l.relation::pg_catalog.regclass::text) as thing,
       extract(epoch from pg_catalog.clock_timestamp() - a.xact_start)::float8 as seconds
  from pg_catalog.pg_locks l join pg_catalog.pg_stat_activity a on a.pid = l.pid
  join pg_catalog.pg_class c on c.oid = l.relation
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace and n.nspname in ('pgsched', 'pgsched_internal')
 where l.granted and l.locktype = 'relation' and l.pid <> pg_catalog.pg_backend_pid()
   and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
   and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
   and (a.xact_start < pg_catalog.clock_timestamp() - pg_catalog.make_interval(secs => %(seconds)s) or a.xact_start is null)
 group by l.pid, a.application_name, l.mode, a.xact_start order by seconds desc limit %(most)s
