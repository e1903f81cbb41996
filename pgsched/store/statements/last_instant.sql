-- plan: the latest instant of a job that has a row, live or finished: what the repaired chain goes on from.
-- Locks nothing. Index: executions_job, once a partition; history_job.
select greatest(
  (select max(live.scheduled_for) from pgsched.partitions() as p(partition)
    cross join lateral (
      select e.scheduled_for from pgsched.executions e
       where e.partition = p.partition and e.job_id = %(job)s and e.plan is not null
       order by e.scheduled_for desc limit 1) live),
  (select max(h.scheduled_for) from pgsched.history h where h.job_id = %(job)s))
