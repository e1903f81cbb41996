-- settle: settles rows whose attempts ended in anything but a plain success. The row's options decide what happens.
-- Either the row enters history, with everything that follows from its end, or it gives up its lease and waits for its
-- next attempt. In the second case, the error or the target's reason for postponing becomes the row's reason. A failed
-- attempt is recorded unless it never began (it has no duration) or its target postponed it. The caller gives the turn
-- to the next execution of each row's ordering key. Returns, for each status, the number of rows and the first instant
-- at which one fires again. Fenced by (id, token). Index: the primary key; "any (array[…])" prevents a merge join,
-- which would read the whole index.
with outcome as (
  select * from unnest(%(ids)s::uuid[], %(tokens)s::bigint[], %(outcomes)s::text[], %(codes)s::smallint[], %(results)s::jsonb[],
                       %(reasons)s::text[], %(began)s::timestamptz[], %(seconds)s::float8[], %(retryable)s::boolean[], %(waits)s::float8[],
                       %(tracebacks)s::text[])
             as o(id, token, outcome, status_code, result, error, began_at, seconds, retryable, wait, traceback)
), decided as materialized (
  select o.id, o.token, o.status_code, o.result, o.began_at, o.seconds, o.traceback, e.lease_owner as worker, d.status, d.delay, d.reason
    from outcome o join pgsched_internal.executions_{p} e on e.id = any (array[o.id]) and e.lease_token = o.token
   cross join lateral pgsched_internal.decide(o.outcome, o.error, o.retryable, o.wait, e.attempt,
     extract(epoch from pgsched.now() - coalesce(e.start_at, e.scheduled_for, e.fire_at))::float8, e.options, e.client_id, e.partition, e.plan) d
), again as (
  update pgsched_internal.executions_{p} e
     set fire_at = pgsched.now() + make_interval(secs => d.delay), scheduled_for = coalesce(e.scheduled_for, e.fire_at),
         lease_owner = null, lease_token = null, lease_expires_at = null,
         attempt = e.attempt - (d.status = 'scheduled')::integer,
         plan = case d.status when 'scheduled' then -abs(e.plan) else e.plan end,
         uncounted = case when d.status = 'scheduled' and d.seconds is not null then coalesce(e.uncounted, 0) + 1 else e.uncounted end,
         reason = d.reason
    from decided d
   where e.id = any (array[d.id]) and e.lease_token = d.token and d.delay is not null
  returning e.fire_at, e.attempt, e.client_id, d.*
), ended as (
  delete from pgsched_internal.executions_{p} e using decided d
   where e.id = any (array[d.id]) and e.lease_token = d.token and d.delay is null
  returning e::pgsched.executions as execution, d.*
), attempts as (
  insert into pgsched.attempts (finished_at, execution_id, duration, worker, attempt, status_code, client_id, error, traceback)
  select pgsched.now(), a.id, make_interval(secs => a.seconds), a.worker, a.attempt, a.status_code, a.client_id, a.reason, a.traceback
    from (select id, seconds, worker, attempt, status_code, client_id, reason, traceback from again where status = 'retrying'
          union all
          select id, seconds, worker, (execution).attempt, status_code, (execution).client_id, reason, traceback
            from ended where status <> 'succeeded' and seconds is not null) a
  on conflict do nothing
)
select count(*), s.status::text, min(s.fire_at)
  from (select status, fire_at from again
        union all
        select pgsched_internal.end_execution(execution, status, reason, status_code => status_code, result => result,
                                              begun => seconds is not null, seconds => seconds,
                                              began_at => case when seconds is not null then coalesce(nullif(began_at, '-infinity'), pgsched.now()) end), null from ended) s
 group by s.status
