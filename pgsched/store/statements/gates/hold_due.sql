-- hold: due one-shots of clients whose gate holds others back already, so that claims need not pass them over for ever.
-- Earliest first, no more than a batch. Index: executions_fire_at.
update pgsched_internal.executions_{p} e
   set fire_at = 'infinity', scheduled_for = coalesce(e.scheduled_for, e.fire_at), gate = 'client:' || e.client_id,
       waits = pgsched_internal.held(e.waits, 'client:' || e.client_id, e.fire_at),
       held_until = pgsched_internal.held_until(e::pgsched.executions)
 where e.ctid = any (array(
         select due.ctid from pgsched_internal.executions_{p} due
          where due.partition = {p} and due.fire_at <= pgsched.now() and due.lease_token is null
            and due.client_id = any (%(clients)s) and coalesce(due.plan, -1) < 0
          order by due.fire_at limit %(batch)s for update skip locked))
