-- settle: like settle_succeeded, for rows that succeeded with a result, each with its own result and status code.
-- Fenced by the token. Index: the primary key; "any (array[…])" prevents a merge join, which would read the whole
-- index.
delete from pgsched_internal.executions_{p} e
 using unnest(%(ids_{p})s, %(codes_{p})s::smallint[], %(results_{p})s::jsonb[],
              %(began_{p})s::timestamptz[], %(seconds_{p})s::real[]) as o(id, status_code, result, began_at, seconds)
 where e.id = any (array[o.id]) and e.lease_token = any (%(tokens)s)
returning e.fire_at, e.scheduled_for, e.created_at, e.id, e.job_id, e.plan, e.partition, e.attempt, o.status_code, e.client_id, e.target,
          e.payload, e.options, e.key, e.ordering_key, e.awaited, o.result, e.labels, e.waits,
          e.lease_owner as worker, o.began_at, o.seconds
-- then
insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, job_id, status, plan, partition, attempt,
                             status_code, client_id, target, payload, options, key, ordering_key, awaited, result, labels, waits,
                             worker, began_at, seconds)
select pgsched.now(), fire_at, coalesce(scheduled_for, fire_at), created_at, id, job_id, 'succeeded', plan, partition, attempt,
       status_code, client_id, target, payload, options, key, ordering_key, awaited, result, labels, waits,
       worker, began_at, seconds
  from ({rows}) settled
