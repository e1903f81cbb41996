-- settle: moves succeeded rows from the live table to history. Fenced: a row counts only with the token under which it
-- was leased. The attempts were short and share the times of one of them, because looking up each row's own times would
-- make a settle slower by a tenth. No attempt began before its row was due. Without an instant, the attempts began with
-- this transaction. Index: the primary key.
delete from pgsched_internal.executions_{p} e
 where e.id = any (%(ids_{p})s) and e.lease_token = any (%(tokens)s)
returning e.fire_at, e.scheduled_for, e.created_at, e.id, e.job_id, e.plan, e.partition, e.attempt, e.client_id, e.target,
          e.payload, e.options, e.key, e.ordering_key, e.awaited, e.labels, e.waits, e.lease_owner as worker
-- then
insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, job_id, status, plan, partition, attempt,
                             status_code, client_id, target, payload, options, key, ordering_key, awaited, labels, waits,
                             worker, began_at, seconds)
select pgsched.now(), fire_at, coalesce(scheduled_for, fire_at), created_at, id, job_id, 'succeeded', plan, partition, attempt,
       %(code)s::smallint, client_id, target, payload, options, key, ordering_key, awaited, labels, waits,
       worker, greatest(coalesce(nullif(%(began)s::timestamptz, '-infinity'), pgsched.now()), fire_at), %(seconds)s::real
  from ({rows}) settled
