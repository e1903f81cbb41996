-- hold: claimed rows that may not pass a gate wait behind it, as if they had not been claimed. Their successors stand
-- already, so nothing is planned when they pass; a backfill's row stays one. Fenced by the token; index: the primary
-- key; "any (array[…])" keeps it from being read whole to be joined in its order.
update pgsched_internal.executions_{p} e
   set fire_at = 'infinity', scheduled_for = coalesce(e.scheduled_for, e.fire_at), gate = h.gate,
       lease_owner = null, lease_token = null, lease_expires_at = null, attempt = e.attempt - 1,
       plan = -abs(e.plan), waits = pgsched_internal.held(e.waits, h.gate, e.fire_at),
       held_until = pgsched_internal.held_until(e::pgsched.executions)
  from unnest(%(ids)s, %(gates)s::text[]) as h(id, gate)
 where e.id = any (array[h.id]) and e.lease_token = any (%(tokens)s)
