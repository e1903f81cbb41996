-- testing: waiting executions and recurring jobs, nearest first. A job's row gives its next instant. Locks nothing;
-- reads all rows.
select w.id, w.client_id, w.key, w.target, w.payload::text, w.fire_at, w.cron, w.every
  from (select e.id, e.client_id, e.key, e.target, e.payload, nullif(coalesce(e.scheduled_for, e.fire_at), 'infinity') as fire_at,
               null::text as cron, null::interval as every
          from pgsched.executions e
         where e.lease_token is null and (e.job_id is null or e.plan is null)
        union all
        select j.id, j.client_id, j.key, j.target, j.payload,
               (select min(nullif(e.fire_at, 'infinity')) from pgsched.executions e where e.job_id = j.id and e.plan = j.revision),
               j.cron, j.every
          from pgsched.jobs j
         where j.state in ('active', 'paused')) w
 order by w.fire_at nulls last, w.id
