-- bulk: inserts rows for these instants. A plan of 0 belongs to no revision, so claiming the row plans no successor.
-- Options that limit an execution's age are left out, because these instants passed long ago. executions_job allows one
-- live row for each instant.
insert into pgsched.executions (fire_at, scheduled_for, job_id, plan, partition, client_id, target, payload, options, ordering_key)
select n.fire_at, n.scheduled_for, j.id, 0, pgsched_internal.partition_of(j), j.client_id, j.target, j.payload,
       nullif(j.options - array['relevant_for', 'max_retry_age', 'deadline'], '{}'), j.ordering_key
  from unnest(%(fires)s::timestamptz[], %(instants)s::timestamptz[]) as n(fire_at, scheduled_for)
  join pgsched.jobs j on j.id = %(job)s
on conflict do nothing
