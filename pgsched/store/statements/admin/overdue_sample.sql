-- recovery: the executions that have been due the longest, across all partitions. Locks nothing. Index:
-- executions_fire_at.
select o.id, o.client_id::text as client, o.target::text, o.key::text, coalesce(o.scheduled_for, o.fire_at)::timestamptz as scheduled_for
  from pgsched.queues q cross join pgsched_internal.partitions_of(q.first_partition) p
 cross join lateral (select e.* from pgsched.executions e
                      where e.partition = p and e.fire_at <= pgsched.now() order by e.fire_at limit %(most)s) o
 order by o.fire_at, o.id limit %(most)s
