-- plan: inserts the next row of each job. executions_job allows one live row for each instant of a job. Inserts nothing
-- if the sweep or another planner was first.
insert into pgsched.executions (fire_at, scheduled_for, start_at, job_id, plan, partition, client_id, target, payload, options, ordering_key)
select n.fire_at, n.instant, nullif(n.fire_at, n.instant), j.id, j.revision, pgsched_internal.partition_of(j), j.client_id, j.target, j.payload, j.options, j.ordering_key
  from unnest(%(jobs)s::uuid[], %(instants)s::timestamptz[], %(fires)s::timestamptz[]) as n(id, instant, fire_at) join pgsched.jobs j on j.id = any (array[n.id])
on conflict do nothing
returning partition, fire_at
