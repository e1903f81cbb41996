-- claim: whether an earlier run of a job is left that was to be ended, since somebody else has it locked, or one that was to
-- be waited for. Locks nothing. Index: executions_job.
select exists (select from pgsched_internal.executions_{p} e
                where e.job_id = %(job)s and e.scheduled_for < %(before)s and e.plan is distinct from 0)
