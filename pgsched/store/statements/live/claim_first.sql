-- claim: leases due executions whose priority is above 0: those of the highest priority first, and within it the earliest. Locks the rows
-- that it takes and passes over those that another worker holds. Of each priority it reads a part only (depth), so that one client's rows,
-- which claims may pass over, keep nobody waiting. Index: executions_priority, at each priority that there is, from the highest down; then
-- the primary key, without a join. An update returns its rows partition by partition: so they are sorted once more.
-- A range of one priority and its order: the index of instants then has no answer to the question.
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
