-- settle: rows that ended in a way of their own (a result, a status code, a failure) leave the live table and enter
-- history, with what follows from their ends. A failed try writes its attempt; one that never began, and so took no seconds,
-- does not count. The caller lets the next of their ordering keys have their turn.
-- Fenced by (id, token); index: the primary key; "any (array[…])" keeps it from being read whole to be joined in its order.
with outcome as (
  select * from unnest(%(ids)s::uuid[], %(tokens)s::bigint[], %(statuses)s::pgsched.execution_status[],
                       %(codes)s::smallint[], %(results)s::jsonb[], %(reasons)s::text[], %(durations)s::float8[])
             as o(id, token, status, status_code, result, why, seconds)
), settled as (
  delete from pgsched_internal.executions_{p} e using outcome o
   where e.id = any (array[o.id]) and e.lease_token = o.token
  returning e::pgsched.executions as execution, o.*
), attempts as (
  insert into pgsched.attempts (finished_at, execution_id, duration, worker, attempt, status_code, client_id, error)
  select pgsched.now(), id, make_interval(secs => seconds), (execution).lease_owner, (execution).attempt, status_code,
         (execution).client_id, why
    from settled where status <> 'succeeded' and seconds is not null
  on conflict do nothing
)
select count(*), count(pgsched_internal.end_execution(execution, status, why, status_code => status_code, result => result,
                                                      begun => seconds is not null)::text)
  from settled
