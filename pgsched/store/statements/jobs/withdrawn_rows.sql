-- plan: the rows of changed jobs that have been held since they came due, and whether each could be locked. Does not
-- wait for locks of other transactions. Index: executions_job of the job's current and former partitions; "offset 0"
-- prevents a read of the whole index.
with found as materialized (
  select e.id, e.partition, e.job_id, e.scheduled_for
    from unnest(%(jobs)s::uuid[]) as w(job_id)
   cross join lateral (
     select * from pgsched.executions e
      where e.job_id = w.job_id and e.partition = any (pgsched_internal.homes_of(w.job_id)) and e.fire_at = 'infinity'
        and e.gate is null and e.plan > 0 and e.attempt = 0 and e.lease_token is null offset 0) e
), locked as materialized (
  select e.id from pgsched.executions e
   where e.partition = any (array(select partition from found)) and e.id = any (array(select id from found)) for update skip locked
)
select f.id, f.job_id as job, f.partition, f.scheduled_for, l.id is not null as is_locked
  from found f left join locked l on l.id = f.id order by f.job_id, f.scheduled_for
