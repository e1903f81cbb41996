-- The number of locks that a transaction holds after reading pgsched.status (one for each of its tables and each of
-- their indexes), the number of locks per session for which the server has room, and the number of sessions that share
-- this room. Reads catalogues by their indexes; locks none of the tables.
with recursive read (oid) as (
  select unnest(array['pgsched.executions', 'pgsched.history', 'pgsched_internal.kept_dead_letters']::pg_catalog.regclass[])::pg_catalog.oid
  union all
  select i.inhrelid from read r join pg_catalog.pg_inherits i on i.inhparent = r.oid
)
select pg_catalog.count(*) + coalesce(pg_catalog.sum((select pg_catalog.count(*) from pg_catalog.pg_index x where x.indrelid = r.oid)), 0),
       pg_catalog.current_setting('max_locks_per_transaction')::pg_catalog.int4,
       pg_catalog.current_setting('max_connections')::pg_catalog.int4
         + pg_catalog.current_setting('max_prepared_transactions')::pg_catalog.int4
  from read r
