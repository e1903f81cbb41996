-- reap: the partitions in which a lease ran out. Leased rows stand at the left edge of their partition, so no more than
-- depth due rows are read in each. Locks nothing. Index: executions_fire_at.
select p.partition from unnest(%(partitions)s::smallint[]) as p(partition)
 where exists (
   select from (select e.lease_expires_at from pgsched.executions e
                 where e.partition = p.partition and e.fire_at <= pgsched.now() + interval '1 minute'
                 order by e.fire_at limit %(depth)s) edge
    where edge.lease_expires_at < pgsched.now())
