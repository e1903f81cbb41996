-- plan: ends rows that have been held since their jobs changed and whose runs must no longer begin. Each row accounts
-- for the instants up to its job's change. The rows are locked already. Index: the primary key.
with gone as (
  delete from pgsched.executions e where e.partition = any (%(partitions)s::smallint[]) and e.id = any (%(ids)s::uuid[])
  returning e::pgsched.executions as execution
)
select pgsched_internal.end_execution(execution, 'skipped', (execution).reason, nullif(greatest(n.last, (execution).scheduled_for), (execution).scheduled_for))
  from unnest(%(ids)s::uuid[], %(lasts)s::timestamptz[]) as n(id, last) join gone on (execution).id = n.id
