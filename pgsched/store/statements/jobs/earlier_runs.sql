-- claim: of claimed rows of jobs that are not to overlap, those before which an earlier run of the job is not over,
-- and the latest such run: in hand, waiting for its next try, or handed back. Rows of a backfill (plan 0) run beside.
-- Locks nothing. Index: executions_job, backwards from the row's own instant.
select n.id, o.id
  from unnest(%(ids)s, %(jobs)s, %(instants)s) as n(id, job_id, scheduled_for)
 cross join lateral (select e.id from pgsched_internal.executions_{p} e
                      where e.job_id = n.job_id and e.scheduled_for < n.scheduled_for and e.plan is distinct from 0
                      order by e.scheduled_for desc limit 1) o
