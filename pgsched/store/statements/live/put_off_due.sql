-- sift: puts off a due row that cannot be leased, because another transaction holds a lock. The row fires after the
-- claim's look-ahead, as in put_off. Index: the primary key.
update pgsched_internal.executions_{p} e
   set fire_at = greatest(e.fire_at, pgsched.now() + %(ahead)s
         + least(greatest((pgsched.now() - coalesce(e.start_at, e.scheduled_for, e.fire_at)) * 0.5, interval '20 ms'), interval '5 s')),
       scheduled_for = coalesce(e.scheduled_for, e.fire_at),
       gate = case when e.plan > 0 and e.fire_at <= coalesce(e.start_at, e.scheduled_for, e.fire_at) then 'busy' else e.gate end,
       reason = 'waits: an open transaction holds a lock on it, or on its job'
 where e.id = any (array[%(id)s::uuid]) and e.lease_token is null and isfinite(e.fire_at)
