-- plan: ranges of a job's instants that had no row, and do not run: one row of history for each range.
insert into pgsched.history (finished_at, fire_at, scheduled_for, last_scheduled_for, created_at, instants, id, job_id,
                             status, plan, partition, attempt, client_id, target, payload, options, ordering_key, reason)
select pgsched.now(), o.first, o.first, case when o.instants > 1 then o.last end, pgsched.now(), nullif(o.instants, 1),
       pgsched.new_id(), j.id, 'skipped', j.revision, pgsched_internal.partition_of(j), 0, j.client_id, j.target, j.payload, j.options,
       j.ordering_key, o.reason
  from unnest(%(jobs)s::uuid[], %(firsts)s::timestamptz[], %(lasts)s::timestamptz[], %(counts)s::bigint[], %(reasons)s::text[])
       as o(job_id, first, last, instants, reason)
  join pgsched.jobs j on j.id = any (array[o.job_id])
