-- reach: like last_of, for a queue. The page may read each partition up to the partition's share. Returns the first, in
-- page order, of the partitions' last rows.
(select last.id from pgsched.queues q cross join pgsched_internal.partitions_of(q.first_partition) p cross join lateral (
   select r.id from pgsched.executions r where r.partition = p{clauses} order by r.id{order} offset {most} limit 1) last
  where q.name = %(queue)s order by last.id{order} limit 1)
