-- doctor: tables of pgsched that have more dead rows than live rows, and more than this limit, with the time since
-- their last vacuum. The table with the most dead rows comes first. Locks nothing.
select s.schemaname || '.' || s.relname as name, s.n_dead_tup::bigint as dead, s.n_live_tup::bigint as live,
       extract(epoch from pg_catalog.clock_timestamp() - greatest(s.last_vacuum, s.last_autovacuum))::float8 as seconds
  from pg_catalog.pg_stat_user_tables s
 where s.schemaname in ('pgsched', 'pgsched_internal') and s.n_dead_tup > %(bound)s and s.n_dead_tup > s.n_live_tup
 order by s.n_dead_tup desc limit %(most)s
