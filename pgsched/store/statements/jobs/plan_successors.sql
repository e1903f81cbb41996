-- plan: the successors of rows claimed in one partition, in the claim's transaction. The jobs are share-locked until
-- it commits, so that an edit is either seen here or waits and plans by itself; of one that somebody else has locked
-- nothing is planned. One row for an
-- instant of a job among the live rows, by executions_job: where the sweep or another planner was there first, this
-- fails, and the claim is made again with the clause unless_it_stands.
-- Plans are kept, and one that was made while there were few jobs must look each up also where there are thousands. So the
-- planner cannot change the order of this join (the subquery locks), the client comes with the id, which the primary key
-- and jobs_client both find at once, and the state is compared as text, for no index by the state to be read whole.
insert into pgsched_internal.executions_{p} (fire_at, scheduled_for, job_id, plan, partition, client_id, target, payload, options, ordering_key)
select n.fire_at, n.instant, j.id, j.revision, {p}, j.client_id, j.target, j.payload, j.options, j.ordering_key
  from unnest(%(clients)s::text[], %(jobs)s, %(revisions)s, %(instants)s, %(fires)s) as n(client_id, id, revision, instant, fire_at)
 cross join lateral (
   select * from pgsched.jobs j
    where j.client_id = n.client_id and j.id = n.id and j.revision = n.revision and j.state::text = 'active'
      for share skip locked) j{clauses}
