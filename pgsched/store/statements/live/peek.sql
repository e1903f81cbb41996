-- peek: of the next waiting rows of a partition, no more than most: the earliest that is not passed over, and where the
-- last of them stands if there may be more. Locks nothing. Index: executions_fire_at.
select min(due.fire_at) filter (where true{clauses}), case when count(*) = %(most)s then max(due.fire_at) end
  from (select e.fire_at, e.id, e.client_id, e.plan, e.target, e.ordering_key from pgsched_internal.executions_{p} e
         where e.partition = {p} and e.fire_at >= %(low)s and e.fire_at <= %(until)s and e.lease_token is null
         order by e.fire_at limit %(most)s) due
