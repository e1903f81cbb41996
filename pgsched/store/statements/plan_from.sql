-- plan: what a new or edited job goes on from: now, or an instant of it that a worker claimed a moment ahead and has in
-- hand. Locks nothing. Index: executions_job, once a partition.
select greatest(pgsched.now(), max(ahead.scheduled_for))
  from pgsched.partitions() as p(partition)
  left join lateral (
    select e.scheduled_for from pgsched.executions e
     where e.partition = p.partition and e.job_id = %(job)s
       and e.scheduled_for between pgsched.now() and pgsched.now() + interval '1 second') ahead on true
