-- overview: by how many seconds the oldest execution of each queue is late that is due and in nobody's hand, of those queues that
-- have one. Locks nothing. Index: executions_fire_at, of each partition the edge, behind what is in hand.
select q.name as queue, extract(epoch from clock_timestamp() - min(e.fire_at))::float8 as seconds
  from pgsched.queues q cross join pgsched_internal.partitions_of(q.first_partition) p cross join lateral (
    select e.fire_at from pgsched.executions e
     where e.partition = p and e.fire_at <= clock_timestamp() and e.lease_expires_at is null
     order by e.fire_at limit 1) e
 group by q.name order by seconds desc, q.name
