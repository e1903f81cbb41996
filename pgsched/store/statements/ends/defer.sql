-- settle: releases from the worker the rows that their targets accepted and will complete later. Each keeps a lease
-- without an owner, and its fire_at is set to the end of the lease, where the reaper finds it. Fenced by (id, token).
-- Index: the primary key; "any (array[…])" prevents a merge join, which would read the index whole.
update pgsched_internal.executions_{p} e
   set lease_owner = null, lease_expires_at = pgsched.now() + make_interval(secs => o.seconds),
       scheduled_for = coalesce(e.scheduled_for, e.fire_at), fire_at = pgsched.now() + make_interval(secs => o.seconds)
  from unnest(%(ids)s, %(tokens)s, %(seconds)s::float8[]) as o(id, token, seconds)
 where e.id = any (array[o.id]) and e.lease_token = o.token
