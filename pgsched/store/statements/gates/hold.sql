-- hold: holds claimed rows at a gate that they may not pass, as if they had not been claimed. Their successors are
-- already planned, so passing the gate plans none. Backfill rows remain backfill rows. Fenced by the token. Index: the
-- primary key; "any (array[…])" prevents a merge join, which would read the whole index.
update pgsched_internal.executions_{p} e
   set fire_at = 'infinity', scheduled_for = coalesce(e.scheduled_for, e.fire_at), gate = h.gate,
       lease_owner = null, lease_token = null, lease_expires_at = null, attempt = e.attempt - 1,
       plan = -abs(e.plan), waits = pgsched_internal.held(e.waits, h.gate, e.fire_at),
       held_until = pgsched_internal.held_until(e::pgsched.executions)
  from unnest(%(ids)s, %(gates)s::text[]) as h(id, gate)
 where e.id = any (array[h.id]) and e.lease_token = any (%(tokens)s)
