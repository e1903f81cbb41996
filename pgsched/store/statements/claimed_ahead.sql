-- plan: instants of a job that a worker claimed a moment ahead, and that have their row or their end already.
-- Locks nothing. Index: executions_job of each partition; history_job.
select e.scheduled_for from pgsched.executions e
 where e.job_id = %(job)s and e.scheduled_for > %(begin)s and e.scheduled_for <= %(begin)s + interval '1 second'
union
select h.scheduled_for from pgsched.history h
 where h.job_id = %(job)s and h.scheduled_for > %(begin)s and h.scheduled_for <= %(begin)s + interval '1 second'
