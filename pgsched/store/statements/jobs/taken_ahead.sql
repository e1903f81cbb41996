-- plan: instants of a job that have their row or their end already, though the job was changed before they came, or while
-- a worker claimed them. A claim looks less than a second ahead. Locks nothing. Indexes: executions_job of each
-- partition; history_job.
select e.scheduled_for from pgsched.executions e
 where e.job_id = %(job)s and e.scheduled_for > %(begin)s
   and e.scheduled_for <= greatest(%(begin)s, %(changed)s) + interval '1 second'
union
select h.scheduled_for from pgsched.history h
 where h.job_id = %(job)s and h.scheduled_for > %(begin)s
   and h.scheduled_for <= greatest(%(begin)s, %(changed)s) + interval '1 second'
