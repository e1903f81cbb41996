-- release: hands back the executions that ran when their worker stopped, as if they had not been claimed, and writes that down as an attempt. It
-- counts as a loss, up to two. A handler that was lost twice before may be what stops its workers: its execution is held until it has run alone, if a living worker
-- can run it alone. Fenced by the token; index: the primary key.
with cut as materialized (
  select e.id, e.lease_owner, e.attempt, e.client_id, e.target like 'python:%%' as is_handler,
         e.losses > 1 and e.target like 'python:%%' and exists (
           select from pgsched.workers w join pgsched.queues q on q.name = any (w.queues)
            where w.tries and w.lost_since is null and e.target = any (w.delivers)
               and q.first_partition = pgsched_internal.first_partition_of({p})) as is_suspect
    from pgsched_internal.executions_{p} e where e.id = any (%(ids)s) and e.lease_token = any (%(tokens)s)
), attempts as (
  insert into pgsched.attempts (finished_at, execution_id, worker, attempt, client_id, error)
  select pgsched.now(), id, lease_owner, attempt, client_id, 'its worker was stopped' from cut on conflict do nothing
)
update pgsched_internal.executions_{p} e
   set lease_owner = null, lease_token = null, lease_expires_at = null, attempt = e.attempt - 1,
       plan = -abs(e.plan), uncounted = coalesce(e.uncounted, 0) + 1,
       losses = case when cut.is_handler then greatest(e.losses, least(coalesce(e.losses, 0) + 1, 2)) else e.losses end,
       fire_at = case when cut.is_suspect then 'infinity' else e.fire_at end,
       scheduled_for = case when cut.is_suspect then coalesce(e.scheduled_for, e.fire_at) else e.scheduled_for end,
       gate = case when cut.is_suspect then 'alone:' || e.target else e.gate end,
       waits = case when cut.is_suspect then pgsched_internal.held(e.waits, 'alone:' || e.target, pgsched.now()) else e.waits end,
       held_until = case when cut.is_suspect then pgsched_internal.held_until(e::pgsched.executions) else e.held_until end
  from cut where e.id = any (array[cut.id]) and e.lease_token = any (%(tokens)s)
