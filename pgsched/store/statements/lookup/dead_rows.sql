-- metrics: the dead rows of each table of pgsched, its partitions and days together, as the server estimates them. Locks nothing.
select regexp_replace(s.relname, '_[0-9_]+$', '') as name, sum(s.n_dead_tup)::bigint as dead
  from pg_catalog.pg_stat_user_tables s
 where s.schemaname in ('pgsched', 'pgsched_internal')
 group by 1 order by 1
