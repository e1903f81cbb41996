-- forecast: how many executions become due in each minute, starting with the current or a given minute. Each count
-- stops at a limit; minutes without executions are left out. Locks nothing. Index: executions_fire_at, one partition
-- after another.
with homes as (
  select p as partition from pgsched.queues q, pgsched_internal.partitions_of(q.first_partition) p
), minutes as (
  select m as minute, greatest(m, n) as behind, m + interval '1 minute' as until
    from clock_timestamp() n, generate_series(0, %(minutes)s::int - 1) i,
         lateral (select coalesce(%(start)s::timestamptz, date_trunc('minute', n, 'UTC')) + i * interval '1 minute' as m) m
)
select m.minute, found.due
  from minutes m cross join lateral (
    select count(*) as due from (
      select from homes p cross join lateral (
        select from pgsched.executions e
         where e.partition = p.partition and e.fire_at >= m.behind and e.fire_at < m.until
         order by e.fire_at limit %(most)s) e
       limit %(most)s) e) found
 where found.due > 0
 order by m.minute
