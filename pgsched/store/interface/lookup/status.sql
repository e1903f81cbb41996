-- Live rows, ended rows, and dead letters that are kept longer, in one view. The status of a live row is derived from
-- its instant and the end of its lease, because readers may not see the token. Each part of the union reads one table,
-- and all parts have the same types, so that conditions and the order of ids use the tables' indexes. A join within a
-- part, or a domain instead of its base type, would make the planner read every row before it applies the conditions.

-- Workers judge each other by the same rule: a worker whose lease has ended keeps its rows while its sessions exist,
-- unless it was declared lost.
create or replace function pgsched_internal.is_living(worker pgsched.workers) returns boolean language sql stable
  return worker.lost_since is null
     and (worker.expires_at > pgsched.now()
          or exists (select from pg_catalog.pg_stat_activity a
                      where a.usesysid = worker.login and worker.instance <> ''
                        and pg_catalog.substring(a.application_name, '^pgsched [a-z]+ ([0-9a-f]+)') = worker.instance));
comment on function pgsched_internal.is_living(pgsched.workers)
  is 'True if a worker is alive, as its lease and its sessions show.';

-- Evaluated once per statement, and only if the statement shows a waiting row.
create or replace function pgsched_internal.stalls() returns jsonb
  language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select coalesce(jsonb_object_agg(q.first_partition, case when h.held then 'waits: the installation is held for recovery'
                                                           when q.paused_at is not null then 'waits: the queue is paused'
                                                           else 'waits: no worker serves the queue' end), '{}')
    from pgsched.queues q cross join (select exists (select from pgsched.installation i where i.held_since is not null)) h(held)
   where h.held or q.paused_at is not null
      or not q.pulled and not exists (select from pgsched.workers w where q.name = any (w.queues) and pgsched_internal.is_living(w)
                                        and not exists (select from pgsched_internal.draining d where d.worker = w.id))
$$;
comment on function pgsched_internal.stalls()
  is 'The queues in which nothing begins, by first partition, each with the reason: the installation is held, the queue
is paused, or no worker serves it.';

create or replace view pgsched_internal.live with (security_invoker = true) as
select e.id, e.client_id::text, e.key::text, e.job_id, e.partition,
       case when e.lease_expires_at is not null then 'running'
            when e.fire_at = 'infinity' then 'held'
            when e.attempt > 0 then 'retrying'
            else 'scheduled' end::pgsched.execution_status as status,
       e.target::text, e.payload::jsonb, coalesce(e.scheduled_for, e.fire_at)::timestamptz as scheduled_for,
       e.fire_at::timestamptz, e.attempt, e.created_at, null::timestamptz as finished_at, null::smallint as status_code,
       null::jsonb as result, e.reason, e.options::jsonb, e.ordering_key::text, e.lease_owner as worker,
       null::timestamptz as began_at, null::real as seconds, e.lease_expires_at, null::bigint as instants, null::timestamptz as last_scheduled_for,
       case when e.lease_expires_at is null and e.fire_at = 'infinity' then e.gate end as held_by, e.labels::jsonb, e.waits
  from pgsched.executions e;
comment on view pgsched_internal.live is 'Waiting and running executions, as the status views show them.';

create or replace view pgsched_internal.ended with (security_invoker = true) as
select h.id, h.client_id, h.key, h.job_id, h.partition, h.status, h.target, h.payload, h.scheduled_for, h.fire_at, h.attempt,
       h.created_at, h.finished_at, h.status_code, h.result, h.reason, h.options, h.ordering_key, h.worker,
       h.began_at, h.seconds, null::timestamptz as lease_expires_at, h.instants, h.last_scheduled_for, null::text as held_by, h.labels, h.waits
  from pgsched.history h
union all
select k.id, k.client_id, k.key, k.job_id, k.partition, k.status, k.target, k.payload, k.scheduled_for, k.fire_at, k.attempt,
       k.created_at, k.finished_at, k.status_code, k.result, k.reason, k.options, k.ordering_key, k.worker,
       k.began_at, k.seconds, null::timestamptz, k.instants, k.last_scheduled_for, null::text, k.labels, k.waits
  from pgsched_internal.kept_dead_letters k;
comment on view pgsched_internal.ended is 'Ended executions, as the status views show them.';

-- Adds the name of the queue, and the reason why a row does not begin. A running row is shown without a reason, because
-- the stored one belongs to the previous attempt.
create or replace view pgsched.status with (security_invoker = true) as
select s.id, s.client_id, s.key, s.job_id, q.name as queue, s.status, s.target, s.payload, s.scheduled_for, s.fire_at, s.attempt,
       s.created_at, s.finished_at, s.status_code, s.result,
       case when s.status = 'running' then null
            when s.status in ('scheduled', 'retrying')
            then coalesce((select pgsched_internal.stalls()) ->> pgsched_internal.first_partition_of(s.partition)::text, s.reason)
            else s.reason end as reason, s.options,
       s.ordering_key, s.worker, s.began_at, make_interval(secs => s.seconds) as duration, s.lease_expires_at, s.instants, s.last_scheduled_for, s.held_by, s.labels, s.waits
  from (select * from pgsched_internal.live union all select * from pgsched_internal.ended) s left join pgsched.queues q on q.first_partition = pgsched_internal.first_partition_of(s.partition);
comment on view pgsched.status is 'All executions, whether waiting, running or ended, with their outcomes.';

create or replace function pgsched_internal.may_see(client text) returns boolean language sql stable as $$
  select pgsched_internal.acts_for(client)
      or coalesce(pg_catalog.pg_has_role(pgsched_internal.acting_role(), to_regrole('pgsched_reader'), 'MEMBER'), false)
$$;
comment on function pgsched_internal.may_see(text) is 'True if the session may read rows of this client.';

-- A query of the view by id or key does not say where the row is, so it locks the tables and indexes of all partitions
-- and days until the reader's transaction ends. This function finds the right table first, and reads only that table.
create or replace function pgsched_internal.status_by_id(id uuid) returns setof pgsched.status
  language plpgsql volatile rows 1 set enable_seqscan = off as $$
declare
  question constant text := 'select s.id, s.client_id, s.key, s.job_id, q.name, s.status, s.target, s.payload, s.scheduled_for, s.fire_at,'
    ' s.attempt, s.created_at, s.finished_at, s.status_code, s.result, case when s.status = ''running'' then null'
    ' when s.status in (''scheduled'', ''retrying'') then coalesce(pgsched_internal.stalls() ->> pgsched_internal.first_partition_of(s.partition)::text, s.reason)'
    ' else s.reason end, s.options, s.ordering_key, s.worker, s.began_at, make_interval(secs => s.seconds), s.lease_expires_at, s.instants, s.last_scheduled_for, s.held_by, s.labels, s.waits'
    ' from pgsched_internal.%s s left join pgsched.queues q on q.first_partition = pgsched_internal.first_partition_of(s.partition)'
    ' where pgsched_internal.may_see(s.client_id) and s.id = $1 and ';
  home constant smallint := pgsched_internal.partition_with(id);
  ended pgsched.history;
begin
  if home is not null then
    return query execute format(question, 'live') || format('s.partition = %s', home) using id;
    if found then
      return;
    end if;
  end if;
  ended := pgsched_internal.in_history(id);
  if ended.id is null then
    select k.* into ended from pgsched_internal.kept_dead_letters k where k.id = status_by_id.id;
  end if;
  if ended.id is not null then
    return query execute format(question, 'ended') || format('s.finished_at = %L limit 1', ended.finished_at) using id;
  end if;
end $$;
comment on function pgsched_internal.status_by_id(uuid)
  is 'The row of pgsched.status for an execution; called by pgsched.status_of.';

create or replace function pgsched.status_of(id uuid default null, client text default null, key text default null) returns setof pgsched.status
  language plpgsql volatile security definer rows 1 set search_path = pg_catalog, pg_temp as $$
declare
  held pgsched_internal.keys;
begin
  perform pgsched_internal.check_named(status_of.id, status_of.client, status_of.key);
  if status_of.key is not null then
    if not pgsched_internal.may_see(client) then
      return;
    end if;
    select k.* into held from pgsched_internal.keys k where k.client_id = client and k.key = status_of.key and k.partition is not null;
    id := case when pgsched_internal.is_live(held) then held.id else pgsched_internal.last_under(client, status_of.key) end;
  end if;
  return query select s.* from pgsched_internal.status_by_id(status_of.id) s;
end $$;
comment on function pgsched.status_of(uuid, text, text)
  is 'The row of pgsched.status for an execution, by id or by client and key. A key stands for the execution that holds
it now or, if there is none, for the one that ended last under it. Returns no row if the execution is unknown, or if you
may not see it. Locks only a few tables, whereas the view locks those of all queues.';
