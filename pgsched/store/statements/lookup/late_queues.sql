-- overview: by how many seconds the oldest execution of each queue is late that is due and in nobody's hand, of those queues that
-- have one. Those that were put off for a moment, as no worker had a place for them, are due since they first were: of these, and for
-- them, it looks at some. Locks nothing. Index: executions_fire_at, of each partition the edge, behind what is in hand.
select q.name as queue, extract(epoch from clock_timestamp() - min(e.due))::float8 as seconds
  from pgsched.queues q cross join pgsched_internal.partitions_of(q.first_partition) p cross join lateral (
    select case when e.attempt = 0 and e.reason ^@ %(no_slot)s then coalesce(e.start_at, e.scheduled_for, e.fire_at) else e.fire_at end as due
      from pgsched.executions e
     where e.partition = p and e.fire_at <= clock_timestamp() + interval '2 seconds' and e.lease_expires_at is null
     order by e.fire_at limit %(most)s) e
 where e.due <= clock_timestamp()
 group by q.name order by seconds desc, q.name
