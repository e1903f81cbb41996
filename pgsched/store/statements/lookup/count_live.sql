-- overview: counts due executions, later executions and held executions by status. Each of the three counts stops at a
-- limit, and reports whether it reached the limit. Locks nothing. Index: executions_fire_at, one partition after
-- another.
with homes as (
  select p as partition from pgsched.queues q, pgsched_internal.partitions_of(q.first_partition) p
), ranges (behind, until) as (
  values ('-infinity'::timestamptz, clock_timestamp()), (clock_timestamp(), '9999-12-31 00:00+00'), ('9999-12-31 00:00+00', 'infinity')
), found as (
  select r.until,
         case when e.lease_expires_at is not null then 'running' when e.fire_at = 'infinity' then 'held'
              when e.attempt > 0 then 'retrying' else 'scheduled' end as status
    from ranges r cross join lateral (
      select e.* from homes p cross join lateral (
        select e.lease_expires_at, e.fire_at, e.attempt from pgsched.executions e
         where e.partition = p.partition and e.fire_at > r.behind and e.fire_at <= r.until
         order by e.fire_at limit %(most)s) e
       limit %(most)s) e
), counted as (
  select f.status, count(*), sum(count(*)) over (partition by f.until) >= %(most)s as cut from found f group by f.until, f.status
)
select c.status, sum(c.count)::bigint as count, bool_or(c.cut) as cut from counted c group by c.status
