-- jobs: the instant of a job's waiting row, and the database's time. Indexes: the primary key of jobs, executions_job.
select (select min(e.scheduled_for) from pgsched.executions e
         where e.job_id = j.id and e.plan = j.revision and e.lease_expires_at is null), pgsched.now()
  from pgsched.jobs j where j.id = %(job)s
