-- tzdata: moves these rows to other instants. The delay between each row's instant and its start stays the same. Wakes
-- workers for rows that are due soon. Index: the primary key.
with moved as (
  update pgsched.executions e
     set (scheduled_for, start_at, fire_at) = (
           select m.becomes, m.becomes + (e.start_at - e.scheduled_for), case when isfinite(e.fire_at) then m.becomes + (e.fire_at - e.scheduled_for) else e.fire_at end
             from unnest(%(rows)s::uuid[], %(instants)s::timestamptz[]) as m(id, becomes) where m.id = e.id)
   where e.partition = any (%(partitions)s::smallint[]) and e.id = any (%(rows)s::uuid[])
  returning e.partition, e.fire_at
)
select pgsched_internal.notify_wake(partition, min(fire_at)) from moved group by partition
