-- gates: all that stand, and which of the queues' first partitions a queue's gate is for.
select g.name, g.concurrency is not null as counts, q.first_partition
  from pgsched.gates g left join pgsched.queues q on g.name = 'queue:' || q.name
