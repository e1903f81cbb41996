-- claim: whether an earlier run of a job remains that should have been ended, but was locked by another transaction, or
-- that has to be waited for. Locks nothing. Index: executions_job.
select exists (select from pgsched_internal.executions_{p} e
                where e.job_id = %(job)s and e.scheduled_for < %(before)s and e.plan is distinct from 0)
