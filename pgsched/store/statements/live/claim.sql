-- claim: leases due rows of each partition, earliest first (or latest first, with order " desc"), and at most as many
-- as there are free slots. Locks these rows, and skips rows that another worker has locked. Index: executions_fire_at.
-- No lease column is indexed, so the update is HOT. `low` is a hint for skipping dead entries at the left edge of the
-- index; the sweeper finds rows before `low`.
update pgsched_internal.executions_{p} e
   set lease_owner = %(owner)s, lease_token = %(token)s,
       lease_expires_at = pgsched.now() + %(lease)s, attempt = e.attempt + 1
 where e.ctid = any (array(
         select due.ctid from pgsched_internal.executions_{p} due
          where due.partition = {p} and due.fire_at >= %(low_{p})s
            and due.fire_at <= pgsched.now() + %(ahead)s and due.lease_token is null{clauses}
          order by due.fire_at{order} limit %(batch_{p})s for update skip locked))
returning {claimed}
-- then
{rows}
