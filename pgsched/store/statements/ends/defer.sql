-- settle: rows that their targets took and will complete are no worker's any more: their lease goes on by itself, and they
-- stand at its end, where the reaper finds them. Fenced by (id, token); index: the primary key;
-- "any (array[…])" keeps it from being read whole to be joined in its order.
update pgsched_internal.executions_{p} e
   set lease_owner = null, lease_expires_at = pgsched.now() + make_interval(secs => o.seconds),
       scheduled_for = coalesce(e.scheduled_for, e.fire_at), fire_at = pgsched.now() + make_interval(secs => o.seconds)
  from unnest(%(ids)s, %(tokens)s, %(seconds)s::float8[]) as o(id, token, seconds)
 where e.id = any (array[o.id]) and e.lease_token = o.token
