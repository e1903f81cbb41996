-- postpone: makes each row wait for a given time, as if it had not been claimed; the claim does not count as an
-- attempt. The reason for the postponement becomes the row's reason. The row's successor is already planned, so the
-- next claim plans none. Backfill rows remain backfill rows. Fenced by (id, token). Index: the primary key; "any
-- (array[…])" prevents a merge join, which would read the whole index.
update pgsched_internal.executions_{p} e
   set fire_at = pgsched.now() + make_interval(secs => p.seconds), scheduled_for = coalesce(e.scheduled_for, e.fire_at),
       lease_owner = null, lease_token = null, lease_expires_at = null, attempt = e.attempt - 1, reason = p.reason,
       plan = -abs(e.plan)
  from unnest(%(ids)s::uuid[], %(tokens)s::bigint[], %(seconds)s::float8[], %(reasons)s::text[]) as p(id, token, seconds, reason)
 where e.id = any (array[p.id]) and e.lease_token = p.token
