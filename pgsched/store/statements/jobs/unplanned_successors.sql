-- claim: finds the successors that a partition lacks because another transaction has locked their jobs, which are
-- unchanged. Locks nothing. Indexes: as in plan_successors; executions_job.
select n.id
  from unnest(%(clients)s::text[], %(jobs)s, %(revisions)s, %(instants)s) as n(client_id, id, revision, instant)
 cross join lateral (select from pgsched.jobs j
                      where j.client_id = n.client_id and j.id = n.id and j.revision = n.revision
                        and j.state::text = 'active' offset 0) j
 where not exists (select from pgsched_internal.executions_{p} e where e.job_id = n.id and e.scheduled_for = n.instant offset 0)
