-- next_due: the earliest waiting instant of each partition, and the database's time to hold it against.
-- Locks nothing. Index: executions_fire_at, its first entry without a lease in each partition.
select p.partition,
       (select e.fire_at from pgsched.executions e
         where e.partition = p.partition and e.lease_token is null order by e.fire_at limit 1) as fire_at,
       pgsched.now() + (clock_timestamp() - now()) as now
  from unnest(%(partitions)s::smallint[]) as p(partition)
