-- Queues, ordered by name, each with its number of waiting executions, counted up to a limit.
select q.name, q.options, q.weight, q.max_waiting, q.full_since, q.paused_at, q.reason, q.pulled, q.first_partition,
       pgsched_internal.count_live(q.name, %(most)s, waiting => true) as waiting
  from pgsched.queues q where %(name)s::text is null or q.name = %(name)s
 order by q.name
