-- hold: holds due one-shots of clients whose gates already hold executions, and one-shots that no running worker can
-- deliver, so that claims need not keep reading past them. Holds at most one batch, earliest first; skips rows that
-- another transaction has locked. Index: executions_fire_at.
update pgsched_internal.executions_{p} e
   set fire_at = 'infinity', scheduled_for = coalesce(e.scheduled_for, e.fire_at),
       held_until = pgsched_internal.held_until(e::pgsched.executions), (gate, waits) = (
         select g.name, pgsched_internal.held(e.waits, g.name, e.fire_at)
           from (select case when e.client_id = any (%(clients)s) then 'client:' || e.client_id
                             else 'worker:' || pgsched_internal.capability_of(e.target) end) as g(name))
 where e.ctid = any (array(
         select due.ctid from pgsched_internal.executions_{p} due
          where due.partition = {p} and due.fire_at <= pgsched.now() and due.lease_token is null
            and (due.client_id = any (%(clients)s) and coalesce(due.plan, -1) < 0
                 or due.plan is null and pgsched_internal.capability_of(due.target) = any (%(capabilities)s))
          order by due.fire_at limit %(batch)s for update skip locked))
