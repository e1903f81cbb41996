-- claim: gives back claimed rows that need something that is locked or does not exist yet. They fire again after the
-- claim's look-ahead: soon if they are a little overdue, later if they are long overdue, so that many such rows do not
-- block other rows. If `until` is given, they fire at that instant instead, and claims that look ahead do not take them
-- earlier. The mark 'busy' says that a row has not waited, although its fire_at suggests that it has. Fenced by the
-- token. Index: the primary key; "any (array[…])" prevents a merge join, which would read the whole index.
update pgsched_internal.executions_{p} e
   set fire_at = greatest(e.fire_at, %(ahead)s + case when o.until > pgsched.now() then o.until
         else pgsched.now() + least(greatest((pgsched.now() - coalesce(e.start_at, o.instant)) * 0.5, interval '20 ms'), interval '5 s') end),
       scheduled_for = o.instant, gate = case when o.marked then 'busy' else e.gate end,
       lease_owner = null, lease_token = null, lease_expires_at = null, attempt = e.attempt - 1,
       reason = coalesce(o.reason, 'waits: an open transaction holds a lock on it, or on its job')
  from unnest(%(ids)s, %(instants)s, %(untils)s, %(marked)s::boolean[], %(reasons)s::text[]) as o(id, instant, until, marked, reason)
 where e.id = any (array[o.id]) and e.lease_token = any (%(tokens)s)
returning e.fire_at
