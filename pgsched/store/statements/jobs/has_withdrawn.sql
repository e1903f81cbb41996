-- plan: whether a job has a row that has been held since the job was changed. Locks nothing. Index: executions_job of
-- each partition.
select exists (select from pgsched.executions e
                where e.job_id = %(job)s and e.fire_at = 'infinity' and e.gate is null and e.plan > 0 and e.attempt = 0 and e.lease_token is null)
