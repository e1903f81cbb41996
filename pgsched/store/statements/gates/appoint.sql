-- gates: claimed rows that a gate lets pass later than now fire then: until that instant they have not begun, and can be changed.
-- Fenced by the token; index: the primary key; "any (array[…])" keeps it from being read whole to be joined in its order.
update pgsched_internal.executions_{p} e set fire_at = a.start, scheduled_for = coalesce(e.scheduled_for, e.fire_at)
  from unnest(%(ids)s, %(starts)s) as a(id, start)
 where e.id = any (array[a.id]) and e.lease_token = any (%(tokens)s)
