-- overview: the queues, whether each is pulled or paused, and the reason if nothing begins in it. Locks nothing.
select q.name, q.pulled, q.paused_at is not null as paused, s.value as stall
  from pgsched.queues q left join jsonb_each_text(pgsched_internal.stalls()) s on s.key = q.first_partition::text
 order by q.name
