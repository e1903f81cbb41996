-- postpone: rows wait so many seconds more, as if they had not been claimed: what they were claimed for does not count as an
-- attempt, and what it was postponed for is its reason. Their successors stand already, so nothing is planned by the next claim; a backfill's row stays one.
-- Fenced by (id, token); index: the primary key; "any (array[…])" keeps it from being read whole to be joined in its order.
update pgsched_internal.executions_{p} e
   set fire_at = pgsched.now() + make_interval(secs => p.seconds), scheduled_for = coalesce(e.scheduled_for, e.fire_at),
       lease_owner = null, lease_token = null, lease_expires_at = null, attempt = e.attempt - 1, reason = p.reason,
       plan = -abs(e.plan)
  from unnest(%(ids)s::uuid[], %(tokens)s::bigint[], %(seconds)s::float8[], %(reasons)s::text[]) as p(id, token, seconds, reason)
 where e.id = any (array[p.id]) and e.lease_token = p.token
