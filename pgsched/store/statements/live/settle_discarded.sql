-- settle: deletes succeeded rows whose client keeps no history of successes. A row still enters history if it has a
-- key, for as long as keys are kept, or if others wait for it. Fenced by the token. Index: the primary key.
delete from pgsched_internal.executions_{p} e
 where e.id = any (%(ids_{p})s) and e.lease_token = any (%(tokens)s)
returning e.id, e.fire_at, e.scheduled_for, e.created_at, e.job_id, e.plan, e.partition, e.attempt, e.client_id, e.target, e.key,
          e.ordering_key, e.awaited, e.labels, e.waits
-- then
, settled as ({rows}), kept as (
  insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, job_id, status, plan, partition, attempt,
                               client_id, target, key, ordering_key, awaited, labels, waits)
  select pgsched.now(), fire_at, coalesce(scheduled_for, fire_at), created_at, id, job_id, 'succeeded', plan, partition,
         attempt, client_id, target, key, ordering_key, awaited, labels, waits
    from settled where key is not null or awaited
)
select from settled
