-- plan: ends rows that were held since their jobs had changed, and whose run is not to begin any more; each accounts for the instants up to that
-- change. They are locked. Index: the primary key.
with gone as (
  delete from pgsched.executions e where e.partition = any (%(partitions)s::smallint[]) and e.id = any (%(ids)s::uuid[])
  returning e::pgsched.executions as execution
)
select pgsched_internal.end_execution(execution, 'skipped', (execution).reason, nullif(greatest(n.last, (execution).scheduled_for), (execution).scheduled_for))
  from unnest(%(ids)s::uuid[], %(lasts)s::timestamptz[]) as n(id, last) join gone on (execution).id = n.id
