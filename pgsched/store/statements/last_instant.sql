-- plan: the latest instant of a job that has a row, live or finished: what the repaired chain goes on from.
-- Locks nothing. Index: executions_job of each partition; history_job.
select greatest(
  (select max(e.scheduled_for) from pgsched.executions e where e.job_id = %(job)s and e.plan is not null),
  (select max(coalesce(h.last_scheduled_for, h.scheduled_for)) from pgsched.history h where h.job_id = %(job)s))
