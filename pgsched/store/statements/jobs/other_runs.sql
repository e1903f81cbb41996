-- claim: a job's runs at or after one instant and before another, and its earlier runs that are not over, in order.
-- Leaves out earlier runs of a backfill. Locks nothing. Indexes: executions_job of the job's current and former
-- partitions; history_job, for the days since the first instant.
select e.id, e.scheduled_for, null as status from pgsched.executions e
 where e.job_id = %(job)s and e.scheduled_for < %(high)s and (e.scheduled_for >= %(low)s or e.plan is distinct from 0)
   and e.partition = any (array(select pgsched_internal.partition_of(j) from pgsched.jobs j where j.id = %(job)s
                                union select m.partition from pgsched_internal.job_moves m where m.job_id = %(job)s))
union all
select h.id, h.scheduled_for, h.status::text from pgsched.history h
 where h.job_id = %(job)s and h.scheduled_for >= %(low)s and h.scheduled_for < %(high)s and h.finished_at >= %(low)s
 order by 2, 1
