-- hold: due one-shots that no living worker can deliver, so that claims need not read past them for ever. Earliest
-- first, no more than a batch; passes over what another holds. Index: executions_fire_at.
update pgsched_internal.executions_{p} e
   set fire_at = 'infinity', scheduled_for = coalesce(e.scheduled_for, e.fire_at),
       gate = 'worker:' || pgsched_internal.capability_of(e.target),
       waits = pgsched_internal.held(e.waits, 'worker:' || pgsched_internal.capability_of(e.target), e.fire_at),
       held_until = pgsched_internal.held_until(e::pgsched.executions)
 where e.ctid = any (array(
         select due.ctid from pgsched_internal.executions_{p} due
          where due.partition = {p} and due.fire_at <= pgsched.now() and due.lease_token is null and due.plan is null
            and pgsched_internal.capability_of(due.target) = any (%(capabilities)s)
          order by due.fire_at limit %(batch)s for update skip locked))
