-- peek: reads up to `most` of each partition's waiting rows between `low` and `until`, earliest first. Returns the
-- earliest instant of a row that is not skipped and, if there may be more rows, the instant of the last row read. Locks
-- nothing. Index: executions_fire_at.
select {p}::smallint as partition, min(due.fire_at) filter (where true{clauses}) as first,
       case when count(*) = %(most)s then max(due.fire_at) end as read_to
  from (select e.fire_at, e.id, e.client_id, e.plan, e.target, e.ordering_key from pgsched_internal.executions_{p} e
         where e.partition = {p} and e.fire_at >= %(low_{p})s and e.fire_at <= %(until_{p})s and e.lease_token is null
         order by e.fire_at limit %(most)s) due
-- then
select * from ({rows}) read
