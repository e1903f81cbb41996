-- gates: all that stand, how many a second they let pass, and which of the queues' first partitions a queue's gate is for.
select g.name, coalesce(g.events / extract(epoch from g.period), 'infinity')::float8 as rate,
       g.concurrency is not null as counts, q.first_partition
  from pgsched_internal.gates g left join pgsched.queues q on g.name = 'queue:' || q.name
