-- reap: takes back the rows of lost workers, and rows whose leases had expired by a given moment. Reads one partition's
-- due rows after its mark: the next `depth` rows, and those due at the same instant as the last. What happens to a row:
-- - A row of a lost worker goes back as if it had not been claimed. If it was not due yet, it had not begun, and
--   nothing is recorded. For a handler's row, a loss is counted, because the handler may be what ended the worker.
-- - A lease that expired while its worker was running counts as an attempt; a row with no attempts left fails. A worker
--   that has not renewed its registration since then may be frozen, so its rows stay until it is known whether the
--   worker is lost.
-- - A row that may have only one attempt fails if that attempt had begun. If not, it goes back as if it had not been
--   claimed.
-- A row that fails enters history here, and its on_failure is scheduled. Skips rows that are being settled. Returns the
-- instant at which it stopped, if there may be more rows. Index: executions_fire_at, and then the rows' places (ctid).
with edge as materialized (
  select e.ctid as place, e.fire_at, e.lease_owner = any (%(owners)s) or e.lease_expires_at < to_timestamp(%(ended_by)s) as taken
    from pgsched.executions e
   where e.partition = %(partition)s and e.fire_at > %(low)s and e.fire_at <= pgsched.now() + interval '1 minute'
   order by e.fire_at fetch first %(depth)s rows with ties
), lost as (
  select e.ctid, coalesce(e.lease_owner = any (%(owners)s), false) as lost_with_worker, e.fire_at <= pgsched.now() as was_due,
         case when a.allowed = 1 and e.target !~ '^(sql|notify):' then coalesce(e.begun = e.lease_token, false)
              else e.lease_owner <> all (%(owners)s) and e.attempt >= a.allowed end as exhausted,
         a.allowed = 1 and e.target !~ '^(sql|notify):' as is_only,
         a.allowed = 1 and e.target !~ '^(sql|notify):' or e.lease_owner = any (%(owners)s) as uncounted
    from pgsched.executions e,
         lateral (select coalesce(pgsched_internal.attempts_in(pgsched_internal.options_of(e.options, e.client_id, e.partition, e.plan)),
                                  pgsched_internal.default_attempts()) as allowed offset 0) a
   where e.partition = %(partition)s and e.ctid = any (array(select place from edge where taken))
     and (e.lease_owner = any (%(owners)s) or e.lease_expires_at < to_timestamp(%(ended_by)s) and e.lease_owner is not null)
     and (e.lease_owner = any (%(owners)s) or not exists (
            select from pgsched.workers w
             where w.id = e.lease_owner and w.expires_at <= e.lease_expires_at + w.lease))
     and (%(only)s::uuid[] is null or e.id = any (%(only)s::uuid[]))
     for update of e skip locked
), returned as (
  update pgsched.executions e
     set lease_owner = null, lease_token = null, lease_expires_at = null,
         attempt = e.attempt - lost.uncounted::int,
         plan = case when lost.uncounted then -abs(e.plan) else e.plan end,
         uncounted = case when lost.uncounted and not lost.is_only and lost.was_due then coalesce(e.uncounted, 0) + 1 else e.uncounted end,
         losses = case when lost.lost_with_worker and lost.was_due and e.target like 'python:%%' then least(coalesce(e.losses, 0) + 1, 100)
                       else e.losses end
    from lost where e.partition = %(partition)s and e.ctid = lost.ctid and not lost.exhausted
  returning e.id, e.attempt + lost.uncounted::int as attempt, e.client_id, lost.was_due
), failed as (
  delete from pgsched.executions e using lost
   where e.partition = %(partition)s and e.ctid = lost.ctid and lost.exhausted
  returning e as execution
), attempts as (
  insert into pgsched.attempts (finished_at, execution_id, attempt, client_id, error)
  select pgsched.now(), id, attempt, client_id, 'the worker was lost' from returned where was_due
  union all select pgsched.now(), (execution).id, (execution).attempt, (execution).client_id, 'the worker was lost' from failed
  on conflict do nothing
)
select (select count(*) from returned), (select count(*) from failed),
       (select case when count(*) >= %(depth)s then max(fire_at) end from edge),
       (select count(pgsched_internal.end_execution(execution, 'failed', 'the worker was lost on the last attempt')) from failed),
       (select count(pgsched_internal.let_next((execution).partition, (execution).client_id, (execution).ordering_key))
          from failed where (execution).ordering_key is not null)
