-- database: pgsched's tables, each with its partitions or days and its indexes: their bytes at the last vacuum or
-- analyze, the server's estimates of their rows, and the time of the last vacuum. Reads only catalogues. Locks nothing.
with tables as (
  select c.oid, regexp_replace(c.relname, '_[0-9_]+$', '') as name, c.relpages,
         (select coalesce(sum(i.relpages), 0) from pg_catalog.pg_index x join pg_catalog.pg_class i on i.oid = x.indexrelid
           where x.indrelid = c.oid) as index_pages
    from pg_catalog.pg_class c
   where c.relnamespace in ('pgsched'::regnamespace, 'pgsched_internal'::regnamespace) and c.relkind = 'r'
)
select t.name, count(*) as parts, sum(t.relpages)::bigint * current_setting('block_size')::bigint as heap,
       sum(t.index_pages)::bigint * current_setting('block_size')::bigint as indexes,
       coalesce(sum(s.n_live_tup), 0)::bigint as live, coalesce(sum(s.n_dead_tup), 0)::bigint as dead,
       max(greatest(s.last_vacuum, s.last_autovacuum)) as cleaned_at
  from tables t left join pg_catalog.pg_stat_user_tables s on s.relid = t.oid
 group by t.name order by sum(t.relpages) + sum(t.index_pages) desc, t.name limit %(most)s
