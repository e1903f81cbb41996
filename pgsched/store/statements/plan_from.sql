-- plan: what a new or edited job goes on from: now, or an instant of it that a worker claimed a moment ahead and has in
-- hand. Locks nothing. Index: executions_job of each partition.
select greatest(pgsched.now(), max(e.scheduled_for))
  from pgsched.executions e
 where e.job_id = %(job)s and e.scheduled_for between pgsched.now() and pgsched.now() + interval '1 second'
