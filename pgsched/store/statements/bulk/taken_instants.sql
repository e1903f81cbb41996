-- bulk: finds which of these instants of a job have a live row or a run that succeeded, or failed and was replayed.
-- Locks nothing. Indexes: executions_job of each partition; history_job.
select e.scheduled_for from pgsched.executions e where e.job_id = %(job)s and e.scheduled_for = any (%(instants)s)
union
select h.scheduled_for from pgsched.history h
 where h.job_id = %(job)s and h.scheduled_for = any (%(instants)s) and (h.status = 'succeeded' or h.replayed_as is not null)
