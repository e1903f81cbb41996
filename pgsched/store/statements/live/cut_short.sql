-- release: hands back, as if they had not been claimed, the executions that were running when their worker stopped.
-- Records an attempt. For a handler's execution, also counts a loss, because the handler may be what stopped the
-- worker. Fenced by the token. Index: the primary key.
with cut as materialized (
  select e.id, e.lease_owner, e.attempt, e.client_id
    from pgsched_internal.executions_{p} e where e.id = any (%(ids)s) and e.lease_token = any (%(tokens)s)
), attempts as (
  insert into pgsched.attempts (finished_at, execution_id, worker, attempt, client_id, error)
  select pgsched.now(), id, lease_owner, attempt, client_id, 'its worker was stopped' from cut on conflict do nothing
)
update pgsched_internal.executions_{p} e
   set lease_owner = null, lease_token = null, lease_expires_at = null, attempt = e.attempt - 1,
       plan = -abs(e.plan), uncounted = coalesce(e.uncounted, 0) + 1,
       losses = case when e.target like 'python:%%' then least(coalesce(e.losses, 0) + 1, 100) else e.losses end
  from cut where e.id = any (array[cut.id]) and e.lease_token = any (%(tokens)s)
