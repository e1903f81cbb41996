-- overview: the queues, whether consumers pull from each, and why nothing begins in it. Locks nothing.
select q.name, q.pulled, s.value as stall
  from pgsched.queues q left join jsonb_each_text(pgsched_internal.stalls()) s on s.key = q.first_partition::text
 order by q.name
