-- claim: finds, for claimed rows of jobs that must not overlap, the latest earlier run that is not over: one that is
-- running, is waiting for a retry, or was handed back. Leaves out rows without such a run. Backfill rows (plan 0) do
-- not count as earlier runs. Locks nothing. Index: executions_job, backwards from the row's own instant.
select n.id, o.id
  from unnest(%(ids)s, %(jobs)s, %(instants)s) as n(id, job_id, scheduled_for)
 cross join lateral (select e.id from pgsched_internal.executions_{p} e
                      where e.job_id = n.job_id and e.scheduled_for < n.scheduled_for and e.plan is distinct from 0
                      order by e.scheduled_for desc limit 1) o
