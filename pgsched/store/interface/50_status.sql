-- Live and finished rows, and dead letters that are kept longer, in one view; the status of a live row is read off its lease and
-- its instant: off the end of the lease, since who reads may not see the token.
create or replace view pgsched.status with (security_invoker = true) as
select e.id, e.client_id, e.key, e.job_id, q.name as queue,
       case when e.lease_expires_at is not null then 'running'
            when e.fire_at = 'infinity' then 'held'
            when e.attempt > 0 then 'retrying'
            else 'scheduled' end::pgsched.execution_status as status,
       e.target, e.payload, coalesce(e.scheduled_for, e.fire_at) as scheduled_for, e.fire_at, e.attempt,
       e.created_at, null::timestamptz as finished_at, null::smallint as status_code, null::jsonb as result,
       e.reason, e.options, e.ordering_key, e.lease_owner, e.lease_expires_at,
       null::bigint as instants, null::timestamptz as last_scheduled_for,
       case when e.lease_expires_at is null and e.fire_at = 'infinity' then e.gate end as held_by
  from pgsched.executions e left join pgsched.queues q on q.first_partition = (e.partition & ~15)
union all
select h.id, h.client_id, h.key, h.job_id, q.name, h.status, h.target, h.payload, h.scheduled_for, h.fire_at, h.attempt,
       h.created_at, h.finished_at, h.status_code, h.result, h.reason, h.options, h.ordering_key, null, null,
       h.instants, h.last_scheduled_for, null
  from pgsched.history h left join pgsched.queues q on q.first_partition = (h.partition & ~15)
union all
select k.id, k.client_id, k.key, k.job_id, q.name, k.status, k.target, k.payload, k.scheduled_for, k.fire_at, k.attempt,
       k.created_at, k.finished_at, k.status_code, k.result, k.reason, k.options, k.ordering_key, null, null,
       k.instants, k.last_scheduled_for, null
  from pgsched_internal.kept_dead_letters k left join pgsched.queues q on q.first_partition = (k.partition & ~15);
comment on view pgsched.status is 'Every execution, waiting, in hand and finished, with what became of it.';
