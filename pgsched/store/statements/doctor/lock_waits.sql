-- doctor: sessions of this database that have waited for a lock longer than `seconds`, the lock, and the sessions that
-- block them. Locks no table. pg_blocking_pids briefly locks the server's lock table, once for each row, so the number
-- of rows is limited.
select l.pid, coalesce(nullif(a.application_name, ''), 'without a name') as name, l.mode,
       coalesce(l.relation::pg_catalog.regclass::text, l.locktype) as thing,
       extract(epoch from pg_catalog.clock_timestamp() - l.waitstart)::float8 as seconds, pg_catalog.pg_blocking_pids(l.pid) as blockers
  from (select w.* from pg_catalog.pg_locks w
         where not w.granted and w.waitstart < pg_catalog.clock_timestamp() - pg_catalog.make_interval(secs => %(seconds)s)
         order by w.waitstart limit %(most)s) l
  join pg_catalog.pg_stat_activity a on a.pid = l.pid
 where a.datname = pg_catalog.current_database()
 order by seconds desc
