-- claim: leases due executions with a priority above 0, highest priority first, and earliest first within a priority.
-- Locks these rows, and skips rows that another worker has locked. Reads only some rows (depth) of each priority, so
-- that a client's rows that claims must skip do not delay other rows. Index: executions_priority, for each priority in
-- use, from the highest down; then the primary key, without a join. An update returns its rows partition by partition,
-- so they are sorted again. The condition on the priority is a range, and the priority is repeated in the order by
-- clause, so that the planner cannot use the index on instants.
with recursive level (priority) as (
  (select (e.options ->> 'priority')::smallint from pgsched.executions e
    where e.options ? 'priority' and (e.options ->> 'priority')::smallint > 0 and e.partition = any ({partitions})
    order by (e.options ->> 'priority')::smallint desc limit 1)
  union all
  select (select (e.options ->> 'priority')::smallint from pgsched.executions e
           where e.options ? 'priority' and e.partition = any ({partitions}) and (e.options ->> 'priority')::smallint < l.priority
           order by (e.options ->> 'priority')::smallint desc limit 1)
    from level l where l.priority > 0
), first as materialized (
  select due.id from level l, lateral (
           select e.* from pgsched.executions e
            where e.options ? 'priority' and e.partition = any ({partitions}) and (e.options ->> 'priority')::smallint between l.priority and l.priority
              and e.fire_at <= pgsched.now() + %(ahead)s and e.lease_token is null
            order by (e.options ->> 'priority')::smallint, e.fire_at limit %(depth)s) due
   where l.priority > 0{clauses} limit %(batch)s
), free as materialized (
  select e.id from pgsched.executions e
   where e.partition = any ({partitions}) and e.id = any (array(select id from first)) and e.lease_token is null
     and e.fire_at - %(ahead)s::interval <= pgsched.now() for update skip locked
), taken as (
  update pgsched.executions e
     set lease_owner = %(owner)s, lease_token = %(token)s, lease_expires_at = pgsched.now() + %(lease)s, attempt = e.attempt + 1
   where e.partition = any ({partitions}) and e.id = any (array(select id from free))
  returning {claimed}
)
select * from taken order by (options ->> 'priority')::smallint desc, fire_at, id
