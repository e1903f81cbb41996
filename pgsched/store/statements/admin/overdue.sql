-- recovery: counts the executions that fire as soon as the installation is released, by client and queue: how many
-- there are, how late they are, how many of them were in flight on workers, and how many belong to jobs. Reads all
-- these executions. Locks nothing. Index: executions_fire_at.
select e.client_id::text as client, q.name as queue, count(*) as executions,
       count(*) filter (where e.lease_token is not null) as in_hand,
       count(*) filter (where e.job_id is not null) as of_jobs,
       count(*) filter (where l.instant < pgsched.now() - interval '1 hour') as an_hour_late,
       count(*) filter (where l.instant < pgsched.now() - interval '1 day') as a_day_late,
       min(l.instant) as oldest
  from pgsched.executions e
  join pgsched.queues q on q.first_partition = pgsched_internal.first_partition_of(e.partition),
       lateral (select coalesce(e.start_at, e.scheduled_for, e.fire_at)::timestamptz) l(instant)
 where e.fire_at <= pgsched.now() or e.lease_token is not null
 group by 1, 2 order by executions desc, 1, 2
