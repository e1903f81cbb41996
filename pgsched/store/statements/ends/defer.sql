-- settle: rows that their targets accepted and will complete later no longer belong to a worker. They keep a lease
-- without an owner, and fire_at is set to its end, where the reaper finds them. Fenced by (id, token). Index: the
-- primary key; "any (array[…])" prevents a merge join, which would read it whole.
update pgsched_internal.executions_{p} e
   set lease_owner = null, lease_expires_at = pgsched.now() + make_interval(secs => o.seconds),
       scheduled_for = coalesce(e.scheduled_for, e.fire_at), fire_at = pgsched.now() + make_interval(secs => o.seconds)
  from unnest(%(ids)s, %(tokens)s, %(seconds)s::float8[]) as o(id, token, seconds)
 where e.id = any (array[o.id]) and e.lease_token = o.token
