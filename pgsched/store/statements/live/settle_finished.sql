-- settle: rows that ended in a way of their own (a result, a status code, a failure) leave the live table and enter
-- history. A failed try writes its attempt; one that never began, and so took no seconds, does not count. What they
-- name as on_success, on_failure or on_expired is scheduled with them, for failures else what their client names, and jobs
-- that pause after failures count them.
-- Fenced by (id, token); index: the primary key; "any (array[…])" keeps it from being read whole to be joined in its order.
with outcome as (
  select * from unnest(%(ids)s::uuid[], %(tokens)s::bigint[], %(statuses)s::pgsched.execution_status[],
                       %(codes)s::smallint[], %(results)s::jsonb[], %(reasons)s::text[], %(durations)s::float8[])
             as o(id, token, status, status_code, result, why, seconds)
), settled as (
  delete from pgsched_internal.executions_{p} e using outcome o
   where e.id = any (array[o.id]) and e.lease_token = o.token
  returning e.*, o.status, o.status_code, o.result, o.why, o.seconds
), attempts as (
  insert into pgsched.attempts (finished_at, execution_id, duration, worker, attempt, status_code, client_id, error)
  select pgsched.now(), id, make_interval(secs => seconds), lease_owner, attempt, status_code, client_id, why
    from settled where status <> 'succeeded' and seconds is not null
  on conflict do nothing
), kept as (
  insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, job_id, status, plan, partition, attempt,
                               status_code, client_id, target, payload, options, key, ordering_key, awaited, result, reason)
  select pgsched.now(), fire_at, coalesce(scheduled_for, fire_at), created_at, id, job_id, status, plan, partition,
         attempt - (seconds is null)::int, status_code, client_id, target, payload, options, key, ordering_key, awaited, result, why
    from settled s
   where s.key is not null or s.awaited
      or case coalesce((select c.keep from pgsched.clients c where c.client_id = s.client_id), 'all')
           when 'all' then true when 'failures' then s.status <> 'succeeded' else false end
)
select count(*),
       count(case when status = 'failed' or options ?| array['on_success', 'on_failure', 'on_expired'] then
         pgsched_internal.tell_outcome(id, job_id, client_id, key, target, options, partition, coalesce(scheduled_for, fire_at),
                              attempt, status, status_code, result, why) end),
       count(case when job_id is not null and coalesce(plan, 1) <> 0 and exists (
                         select from pgsched.jobs j where j.id = job_id and j.rules ? 'pause_after')
             then pgsched_internal.count_outcome(job_id, status) end),
       count(case when ordering_key is not null and status = 'failed' and options ->> 'ordering' = 'block'
             then pgsched_internal.block_key(partition, client_id, ordering_key, id, why)::text end)
  from settled
