-- recovery: the partitions in which due executions wait, and the current time. Locks nothing. Index:
-- executions_fire_at.
select p as partition, pgsched.now() as now
  from pgsched.queues q cross join pgsched_internal.partitions_of(q.first_partition) p
 where exists (select from pgsched.executions e where e.partition = p and e.fire_at <= pgsched.now() and e.lease_token is null)
 order by 1
