-- settle: failed tries that are to be repeated give their lease back and wait for their next instant; each writes
-- its attempt. Fenced by (id, token); index: the primary key;
-- "any (array[…])" keeps it from being read whole to be joined in its order.
with outcome as (
  select * from unnest(%(ids)s::uuid[], %(tokens)s::bigint[], %(delays)s::float8[], %(codes)s::smallint[],
                       %(reasons)s::text[], %(durations)s::float8[])
             as o(id, token, delay, status_code, reason, seconds)
), settled as (
  update pgsched_internal.executions_{p} e
     set fire_at = pgsched.now() + make_interval(secs => o.delay), scheduled_for = coalesce(e.scheduled_for, e.fire_at),
         lease_owner = null, lease_token = null, lease_expires_at = null, losses = null
    from outcome o
   where e.id = any (array[o.id]) and e.lease_token = o.token
  returning e.id, e.attempt, e.client_id, o.status_code, o.reason, o.seconds
), attempts as (
  insert into pgsched.attempts (finished_at, execution_id, duration, worker, attempt, status_code, client_id, error)
  select pgsched.now(), id, make_interval(secs => seconds), %(owner)s, attempt, status_code, client_id, reason
    from settled
  on conflict do nothing
)
select count(*) from settled
