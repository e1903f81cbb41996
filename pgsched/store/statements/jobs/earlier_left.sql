-- claim: whether an earlier run of a job remains: one that should have been ended but was locked by another
-- transaction, or one that the next run must wait for. Locks nothing. Index: executions_job.
select exists (select from pgsched_internal.executions_{p} e
                where e.job_id = %(job)s and e.scheduled_for < %(before)s and e.plan is distinct from 0)
