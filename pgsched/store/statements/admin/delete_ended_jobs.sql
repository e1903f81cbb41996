-- Deletes ended jobs without live executions, once the time in their rule delete_after has passed. Their history stays.
-- Locks the jobs it deletes; skips jobs that another worker has locked. Indexes: jobs_ended, executions_job.
delete from pgsched.jobs j where j.id = any (array(
  select o.id from pgsched.jobs o
   where o.state in ('finished', 'cancelled') and o.rules ? 'delete_after'
     and o.updated_at < pgsched.now() - pgsched_internal.length_of(o.rules ->> 'delete_after')
     and not exists (select from pgsched.executions e where e.job_id = o.id)
     and not exists (select from pgsched.bulk_operations b where b.state = 'active' and b.action = 'backfill' and b.job_id = o.id)
   order by o.updated_at limit %(most)s for update skip locked))
