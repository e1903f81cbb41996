-- ordering: the blocked keys, newest first, each with the number of executions waiting behind it, counted up to 10,000.
-- Index: executions_ordering of the key's own partition.
select b.client_id as client, b.ordering_key, q.name as queue, b.execution_id, b.reason, b.blocked_at,
       (select count(*) from (select from pgsched.executions e where e.partition = b.partition and e.client_id = b.client_id
                                 and e.ordering_key = b.ordering_key limit 10000) found) as waiting
  from pgsched.blocked_keys b left join pgsched.queues q on q.first_partition = pgsched_internal.first_partition_of(b.partition)
 where (b.until is null or b.until > pgsched.now()) and (%(client)s::text is null or b.client_id = %(client)s) and (%(after)s::uuid is null or b.execution_id < %(after)s)
 order by b.execution_id desc limit %(limit)s
