-- plan: the successors of rows claimed in one partition, in the claim's transaction. The jobs are share-locked until
-- it commits, so that an edit is either seen here or waits and plans by itself; of one that somebody else has locked
-- nothing is planned. One row for an
-- instant of a job among the live rows, by executions_job: where the sweep or another planner was there first, this
-- fails, and the claim is made again with "on conflict do nothing" behind it. To expect a conflict costs each row a
-- fifth of its insert.
insert into pgsched_internal.executions_{p} (fire_at, scheduled_for, job_id, plan, partition, client_id, target, payload, options, ordering_key)
select n.fire_at, n.instant, j.id, j.revision, {p}, j.client_id, j.target, j.payload, j.options, j.ordering_key
  from unnest(%(jobs)s, %(revisions)s, %(instants)s, %(fires)s) as n(id, revision, instant, fire_at)
  join pgsched.jobs j on j.id = any (array[n.id]) and j.revision = n.revision
 where j.state = 'active' for share of j skip locked
