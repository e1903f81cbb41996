-- now: a worker's running executions, oldest first, but only those among the oldest due rows of each partition. Locks
-- nothing. Index: executions_fire_at, one partition after another.
select e.id, e.client_id::text as client, e.key::text, e.target::text, e.attempt, e.fire_at
  from (select q.first_partition from pgsched.queues q
         where q.name = any (select unnest(w.queues) from pgsched.workers w where w.id = %(worker)s) order by q.name limit %(queues)s) q,
       pgsched_internal.partitions_of(q.first_partition) p
       cross join lateral (
         select o.* from pgsched.executions o where o.partition = p and o.fire_at <= clock_timestamp() + interval '2 seconds'
          order by o.fire_at limit %(most)s) e
 where e.lease_owner = %(worker)s
 order by e.fire_at limit %(limit)s
