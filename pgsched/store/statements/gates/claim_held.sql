-- claim: leases executions that a gate holds, by priority and instant. Locks these rows, and skips rows that another
-- worker has locked. Index: executions_gate; then the primary key, without a join, because a plan made for few rows
-- would read these indexes whole. An update returns its rows partition by partition; they are sorted again, because the
-- first rows returned begin first.
with fed as materialized (
  select due.id from pgsched.executions due
   where due.gate = %(gate)s and not isfinite(due.fire_at) and due.lease_token is null and due.partition = any ({partitions}){clauses}
   order by coalesce((due.options ->> 'priority')::smallint, 0::smallint) desc, due.scheduled_for, due.id limit %(batch)s for update skip locked
), taken as (
  update pgsched.executions e
     set fire_at = greatest(pgsched.now(), coalesce(e.start_at, e.scheduled_for)), gate = null, waits = pgsched_internal.waited(e.waits), lease_owner = %(owner)s, lease_token = %(token)s,
         lease_expires_at = pgsched.now() + %(lease)s, attempt = e.attempt + 1
   where e.partition = any ({partitions}) and e.id = any (array(select id from fed))
  returning {claimed}
)
select * from taken order by coalesce((options ->> 'priority')::smallint, 0::smallint) desc, scheduled_for, id
