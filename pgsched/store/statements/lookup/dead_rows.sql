-- metrics: the number of dead rows of each table of pgsched, summed over its partitions and days, as the server
-- estimates it. Locks nothing.
select regexp_replace(s.relname, '_[0-9_]+$', '') as name, sum(s.n_dead_tup)::bigint as dead
  from pg_catalog.pg_stat_user_tables s
 where s.schemaname in ('pgsched', 'pgsched_internal')
 group by 1 order by 1
