-- plan: inserts the successors of rows that were claimed in one partition, in the claim's transaction. Locks the jobs
-- for share until the claim commits: an edit is either visible here, or waits for the claim and then plans the job
-- itself. A job that another transaction has locked gets no row. executions_job allows one live row for each instant of
-- a job. If the sweep or another planner was first, this statement fails, and the claim is repeated with the clause
-- unless_it_stands. A cached query plan made for a few jobs must still look up each job when there are thousands. For
-- this reason:
-- - the lock is taken in the subquery, which keeps the planner from reordering the join
-- - the condition has both client and id, so that the primary key and jobs_client each find one row
-- - the state is compared as text, so that no index on the state is read in full
insert into pgsched_internal.executions_{p} (fire_at, scheduled_for, start_at, job_id, plan, partition, client_id, target, payload, options, ordering_key)
select n.fire_at, n.instant, nullif(n.start, n.instant), j.id, j.revision, {p}, j.client_id, j.target, j.payload, j.options, j.ordering_key
  from unnest(%(clients)s::text[], %(jobs)s, %(revisions)s, %(instants)s, %(starts)s, %(fires)s)
         as n(client_id, id, revision, instant, start, fire_at)
 cross join lateral (
   select * from pgsched.jobs j
    where j.client_id = n.client_id and j.id = n.id and j.revision = n.revision and j.state::text = 'active'
      for share skip locked) j{clauses}
