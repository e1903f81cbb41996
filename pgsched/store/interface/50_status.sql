-- Live and finished rows, and dead letters that are kept longer, in one view; the status of a live row is read off its lease and
-- its instant: off the end of the lease, since who reads may not see the token.
-- Each part reads one table, and all have the same types: so conditions and the order of ids reach the tables' own indexes. A
-- join within a part, or a domain beside its base type, would keep them above the union, where every row has been read.

-- As workers judge each other: one whose end has passed has its rows as long as its sessions are there and nobody found it lost.
create or replace function pgsched_internal.is_living(worker pgsched.workers) returns boolean language sql stable as $$
  select worker.lost_since is null
     and (worker.expires_at > pgsched.now()
          or exists (select from pg_catalog.pg_stat_activity a
                      where a.usesysid = worker.login and worker.instance <> ''
                        and pg_catalog.substring(a.application_name, '^pgsched [a-z]+ ([0-9a-f]+)') = worker.instance))
$$;
comment on function pgsched_internal.is_living(pgsched.workers) is 'Whether a worker is there, as far as its lease and its sessions tell.';

-- Asked once a statement, and only where a row that waits is shown.
create or replace function pgsched_internal.stalls() returns jsonb
  language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select coalesce(jsonb_object_agg(q.first_partition, case when q.paused_at is not null then 'waits: the queue is paused'
                                                           else 'waits: no worker serves the queue' end), '{}')
    from pgsched.queues q
   where q.paused_at is not null
      or not q.pulled and not exists (select from pgsched.workers w where q.name = any (w.queues) and pgsched_internal.is_living(w))
$$;
comment on function pgsched_internal.stalls()
  is 'Why nothing begins in a queue though it is due, by the queue''s first partition: it is paused, or no worker serves it.';

create or replace view pgsched.status with (security_invoker = true) as
select s.id, s.client_id, s.key, s.job_id, q.name as queue, s.status, s.target, s.payload, s.scheduled_for, s.fire_at, s.attempt,
       s.created_at, s.finished_at, s.status_code, s.result,
       case when s.reason is null and s.status in ('scheduled', 'retrying')
            then (select pgsched_internal.stalls()) ->> (s.partition & ~15)::text else s.reason end as reason, s.options, s.ordering_key, s.lease_owner, s.lease_expires_at,
       s.instants, s.last_scheduled_for, s.held_by
  from (select e.id, e.client_id::text, e.key::text, e.job_id, e.partition,
               case when e.lease_expires_at is not null then 'running'
                    when e.fire_at = 'infinity' then 'held'
                    when e.attempt > 0 then 'retrying'
                    else 'scheduled' end::pgsched.execution_status as status,
               e.target::text, e.payload::jsonb, coalesce(e.scheduled_for, e.fire_at)::timestamptz as scheduled_for,
               e.fire_at::timestamptz, e.attempt, e.created_at, null::timestamptz as finished_at, null::smallint as status_code,
               null::jsonb as result, e.reason, e.options::jsonb, e.ordering_key::text, e.lease_owner,
               e.lease_expires_at, null::bigint as instants, null::timestamptz as last_scheduled_for,
               case when e.lease_expires_at is null and e.fire_at = 'infinity' then e.gate end as held_by
          from pgsched.executions e
        union all
        select h.id, h.client_id, h.key, h.job_id, h.partition, h.status, h.target, h.payload, h.scheduled_for, h.fire_at, h.attempt,
               h.created_at, h.finished_at, h.status_code, h.result, h.reason, h.options, h.ordering_key, null::integer,
               null::timestamptz, h.instants, h.last_scheduled_for, null::text
          from pgsched.history h
        union all
        select k.id, k.client_id, k.key, k.job_id, k.partition, k.status, k.target, k.payload, k.scheduled_for, k.fire_at, k.attempt,
               k.created_at, k.finished_at, k.status_code, k.result, k.reason, k.options, k.ordering_key, null::integer,
               null::timestamptz, k.instants, k.last_scheduled_for, null::text
          from pgsched_internal.kept_dead_letters k) s
  left join pgsched.queues q on q.first_partition = (s.partition & ~15);
comment on view pgsched.status is 'Every execution, waiting, in hand and finished, with what became of it.';
