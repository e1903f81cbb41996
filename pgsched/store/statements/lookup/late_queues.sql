-- overview: for each queue with executions that are due but unclaimed, how many seconds late the oldest of them is.
-- Executions that were put off for a moment because no worker had a free slot count from the time when they were first
-- due. To find them, reads only a limited number of rows. Locks nothing. Index: executions_fire_at, the edge of each
-- partition, after the running rows.
select q.name as queue, extract(epoch from clock_timestamp() - min(e.due))::float8 as seconds
  from pgsched.queues q cross join pgsched_internal.partitions_of(q.first_partition) p cross join lateral (
    select case when e.attempt = 0 and e.reason ^@ %(no_slot)s then coalesce(e.start_at, e.scheduled_for, e.fire_at) else e.fire_at end as due
      from pgsched.executions e
     where e.partition = p and e.fire_at <= clock_timestamp() + interval '2 seconds' and e.lease_expires_at is null
     order by e.fire_at limit %(most)s) e
 where e.due <= clock_timestamp()
 group by q.name order by seconds desc, q.name
