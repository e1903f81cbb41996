-- plan: turns rows that have been held since their jobs changed into the jobs' next rows, with the jobs' current
-- definition and partition. Each row keeps its id, so whatever waits for the row keeps waiting. The rows are locked
-- already. Index: the primary key.
with gone as (
  delete from pgsched.executions e where e.partition = any (%(partitions)s::smallint[]) and e.id = any (%(ids)s::uuid[]) returning e.*
)
insert into pgsched.executions (id, created_at, awaited, waits, fire_at, scheduled_for, start_at, job_id, plan, partition, client_id,
                                target, payload, options, ordering_key)
select g.id, g.created_at, g.awaited, g.waits, n.fire_at, g.scheduled_for, nullif(n.fire_at, g.scheduled_for), j.id, j.revision, pgsched_internal.partition_of(j), j.client_id,
       j.target, j.payload, j.options, j.ordering_key
  from unnest(%(ids)s::uuid[], %(fires)s::timestamptz[]) as n(id, fire_at)
  join gone g on g.id = n.id join pgsched.jobs j on j.id = any (array[g.job_id])
