-- doctor: the numbers of rows in the default partitions, such as "120 rows of history"; null if there are no rows. The
-- numbers are the server's estimates; no rows are read. Locks nothing.
select string_agg(concat_ws(' rows of ', s.n_live_tup, split_part(s.relname, '_', 1)), ', ' order by s.n_live_tup desc)
  from pg_catalog.pg_stat_all_tables s
 where s.schemaname = 'pgsched_internal' and s.relname in ('history_default', 'attempts_default', 'rollups_default') and s.n_live_tup > 0
