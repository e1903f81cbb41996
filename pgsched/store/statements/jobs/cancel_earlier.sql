-- claim: ends a job's runs before an instant, including those that are running, whose results will be refused. Skips
-- rows that another transaction has locked. Returns the runs that were running. Index: executions_job.
with gone as (
  delete from pgsched_internal.executions_{p} e
   where e.id = any (array(select o.id from pgsched_internal.executions_{p} o
                            where o.job_id = %(job)s and o.scheduled_for < %(before)s and o.plan is distinct from 0
                              for update skip locked))
  returning e::pgsched.executions as execution
), ended as materialized (
  select (execution).id, (execution).lease_token, pgsched_internal.end_execution(execution, 'cancelled', %(reason)s) from gone
)
select id from ended where lease_token is not null
