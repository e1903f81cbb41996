-- Executions that wait or run, many at once: counted by a filter, cancelled or rescheduled at a rate. What is asked for is a row of
-- pgsched.bulk_changes, as is a replay of many dead letters; workers carry it out (bulk_changing.sql).

create or replace function pgsched_internal.check_execution_filter(filter jsonb) returns boolean
  language plpgsql immutable parallel safe as $$
begin
  perform pgsched_internal.check_filter_members(filter, 'executions',
    array['client', 'status', 'host', 'queue', 'job', 'key', 'from', 'to', 'labels']);
  if filter ? 'status' and (jsonb_typeof(filter -> 'status') not in ('string', 'array') or exists (
       select from jsonb_array_elements(case jsonb_typeof(filter -> 'status') when 'array' then filter -> 'status' else jsonb_build_array(filter -> 'status') end) s(value)
        where s.value not in ('"scheduled"', '"retrying"', '"held"', '"running"'))) then
    return pgsched_internal.refuse('PS000', 'status must be one or several of scheduled, retrying, held and running',
      'write {"client": "payments", "status": ["scheduled", "retrying"]}; what has failed is replayed by pgsched.replay_all');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_execution_filter(jsonb)
  is 'True for a filter of executions that wait or run; raises PS000 or PS002 with what to write otherwise.';

create or replace function pgsched_internal.is_named(there pgsched.executions, filter jsonb, clients text[]) returns boolean
  language sql stable as $$
  select (filter ->> 'client' is null or there.client_id = filter ->> 'client') and (clients is null or there.client_id = any (clients))
     and (not filter ? 'labels' or (there.labels @> (filter -> 'labels')) is true)
     and (filter ->> 'status' is null or filter -> 'status' ? case when there.lease_token is not null then 'running' when there.fire_at = 'infinity' then 'held'
                                                                   when there.attempt > 0 then 'retrying' else 'scheduled' end)
     and (filter ->> 'host' is null or pgsched_internal.target_host(there.target) is not distinct from pgsched_internal.canonical_host(filter ->> 'host'))
     and (filter ->> 'job' is null or there.job_id is not distinct from (filter ->> 'job')::uuid)
     and (filter ->> 'key' is null or there.key is not distinct from filter ->> 'key')
     and (filter ->> 'from' is null or coalesce(there.scheduled_for, there.fire_at) >= (filter ->> 'from')::timestamptz)
     and (filter ->> 'to' is null or coalesce(there.scheduled_for, there.fire_at) < (filter ->> 'to')::timestamptz)
$$;
comment on function pgsched_internal.is_named(pgsched.executions, jsonb, text[])
  is 'Whether a filter names an execution that waits or runs, of one of these clients; its queue is looked at by partition.';

create or replace function pgsched_internal.end_of(within interval) returns timestamptz language plpgsql volatile as $$
begin
  if within is null or within not between interval '0' and interval '1 hour' then
    perform pgsched_internal.refuse('PS000', format('it cannot be counted for %s', within), 'write within => ''5 seconds'', or up to 1 hour');
  end if;
  return clock_timestamp() + within;
end $$;
comment on function pgsched_internal.end_of(interval) is 'When a count gives up that may take so long; raises PS000 for what is no time to count in.';

-- In each partition by itself, in a block that is undone: so no lock stays on any of them.
create or replace function pgsched.count_executions(
  filter jsonb, within interval default '5 seconds', out matched bigint, out complete boolean
) language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set enable_sort = off as $$
declare
  until constant timestamptz := pgsched_internal.end_of(within);
  whose constant text[] := pgsched_internal.clients_acted_for();
  home smallint := pgsched_internal.next_partition(filter, null);
  seen integer;
  named bigint;
  reached uuid;
begin
  perform pgsched_internal.check_execution_filter(filter);
  matched := 0;
  while home is not null loop
    begin
      execute format('select count(*), count(*) filter (where f.named), (array_agg(f.id order by f.id desc))[1] from ('
                     'select e.id, pgsched_internal.is_named(e::pgsched.executions, $1, $2) as named from %s e.id > $3 order by e.id limit 10000) f',
                     pgsched_internal.in_partition(home))
         into seen, named, reached using filter, whose, coalesce(reached, '00000000-0000-0000-0000-000000000000');
      raise sqlstate 'PSUND';
    exception when sqlstate 'PSUND' then null;
    end;
    matched := matched + named;
    if seen < 10000 then
      home := pgsched_internal.next_partition(filter, home);
      reached := null;
    end if;
    exit when clock_timestamp() > until;
  end loop;
  complete := home is null;
end $$;
comment on function pgsched.count_executions(jsonb, interval)
  is 'How many executions that wait or run a filter names, as far as they can be counted in so long.';

create or replace function pgsched_internal.next_partition(filter jsonb, partition smallint) returns smallint language sql stable as $$
  select min(p) from pgsched.queues q, pgsched_internal.partitions_of(q.first_partition) p
   where (filter ->> 'queue' is null or q.name = filter ->> 'queue') and p > coalesce(next_partition.partition, -1)
$$;
comment on function pgsched_internal.next_partition(jsonb, smallint)
  is 'The partition after one, or the first, in which there may be what a filter names; null where there is none.';

create or replace function pgsched_internal.ask_for_many(
  verb text, filter jsonb, rate double precision, note text, actor text, target text default null, fire_at timestamptz default null,
  shift interval default null
) returns pgsched.bulk_changes language plpgsql volatile as $$
declare
  whose constant text[] := pgsched_internal.clients_acted_for();
  asked pgsched.bulk_changes;
begin
  perform pgsched_internal.check_said(ask_for_many.note, ask_for_many.actor);
  if rate is null or not (rate > 0 and rate <= 100000) then
    perform pgsched_internal.refuse('PS002', format('rate cannot be %s', rate), 'write how many a second, from above 0 to 100000, such as 10');
  elsif filter ? 'client' and not pgsched_internal.acts_for(filter ->> 'client') then
    perform pgsched_internal.refuse('PS012', format('%I may not %s what is of client %L', pgsched_internal.acting_role(), verb, filter ->> 'client'),
      'act as a role of that client');
  elsif whose = '{}' then
    perform pgsched_internal.refuse('PS012', format('%I acts for no client', pgsched_internal.acting_role()),
      'act as the database_role of a client');
  elsif (select count(*) from pgsched.bulk_changes b where b.state = 'active' and b.clients is not distinct from whose) >= 100 then
    perform pgsched_internal.refuse('PS011', 'a hundred bulk changes are under way', 'wait until one has finished, or end one by pgsched.cancel_bulk_change');
  end if;
  insert into pgsched.bulk_changes as b (verb, clients, filter, target, fire_at, shift, note, rate, actor)
  values (ask_for_many.verb, whose, ask_for_many.filter, ask_for_many.target, ask_for_many.fire_at,
          ask_for_many.shift, ask_for_many.note, ask_for_many.rate, coalesce(ask_for_many.actor, pgsched_internal.acting_role()))
  returning b.* into asked;
  perform pgsched_internal.notify_workers('bulk');
  return asked;
end $$;
comment on function pgsched_internal.ask_for_many(text, jsonb, double precision, text, text, text, timestamptz, interval)
  is 'Has workers do something to all that a filter names; it was checked. PS002 for the rate, PS011 where a hundred are under way, PS012 for
another client''s.';

create or replace function pgsched.cancel_executions(
  filter jsonb, rate double precision default 1000, note text default null, actor text default null
) returns uuid language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  asked pgsched.bulk_changes;
begin
  perform pgsched_internal.check_execution_filter(filter);
  asked := pgsched_internal.ask_for_many('cancel', filter, rate, cancel_executions.note, cancel_executions.actor);
  perform pgsched_internal.write_log('cancel executions', asked.id, cancel_executions.actor, jsonb_strip_nulls(jsonb_build_object(
    'filter', filter, 'rate', rate, 'note', cancel_executions.note)), 'bulk change');
  return asked.id;
end $$;
comment on function pgsched.cancel_executions(jsonb, double precision, text, text)
  is 'Cancels the executions that a filter names and that wait or run by now, at most rate of them a second. Returns the id of the row
in pgsched.bulk_changes that shows its progress. PS000 or PS002 for what cannot be meant, PS012 for another client''s.';

create or replace function pgsched.reschedule_executions(
  filter jsonb, fire_at timestamptz default null, shift interval default null, rate double precision default 1000,
  note text default null, actor text default null
) returns uuid language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  asked pgsched.bulk_changes;
begin
  perform pgsched_internal.check_execution_filter(filter);
  if num_nonnulls(reschedule_executions.fire_at, shift) <> 1 then
    perform pgsched_internal.refuse('PS002', 'when shall they fire?', 'give either fire_at, an instant, or shift => ''1 hour'', by which each is moved');
  elsif shift not between interval '-3653 days' and interval '3653 days' then
    perform pgsched_internal.refuse('PS002', 'shift is at most 3653 days, either way', 'give fire_at for an instant as far away as that');
  elsif reschedule_executions.fire_at is not null then
    perform pgsched_internal.check_instant(reschedule_executions.fire_at);
  end if;
  asked := pgsched_internal.ask_for_many('reschedule', filter, rate, reschedule_executions.note, reschedule_executions.actor,
    fire_at => reschedule_executions.fire_at, shift => reschedule_executions.shift);
  perform pgsched_internal.write_log('reschedule executions', asked.id, reschedule_executions.actor, jsonb_strip_nulls(jsonb_build_object(
    'filter', filter, 'fire_at', reschedule_executions.fire_at, 'shift', shift, 'rate', rate, 'note', reschedule_executions.note)), 'bulk change');
  return asked.id;
end $$;
comment on function pgsched.reschedule_executions(jsonb, timestamptz, interval, double precision, text, text)
  is 'Moves the one-shots that a filter names and that wait by now to an instant, or each by so much, at most rate of them a second. Returns
the id of the row in pgsched.bulk_changes that shows its progress. PS000 or PS002 for what cannot be meant, PS012 for another client''s.';

create or replace function pgsched.cancel_bulk_change(id uuid, actor text default null) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  asked pgsched.bulk_changes;
  whose constant text[] := pgsched_internal.clients_acted_for();
begin
  perform pgsched_internal.check_said(null, cancel_bulk_change.actor);
  select b.* into asked from pgsched.bulk_changes b
   where b.id = cancel_bulk_change.id and (whose is null or coalesce(b.clients <@ whose, false)) for update;
  if not found then
    perform pgsched_internal.refuse('PS010', format('there is no bulk change %s', cancel_bulk_change.id), 'look it up in pgsched.bulk_changes');
  elsif asked.state <> 'active' then
    return false;
  end if;
  update pgsched.bulk_changes b set state = 'cancelled', updated_at = pgsched.now() where b.id = asked.id;
  delete from pgsched_internal.rows_to_come_back_to r where r.change_id = asked.id;
  perform pgsched_internal.write_log('cancel bulk change', asked.id, cancel_bulk_change.actor, null, 'bulk change');
  return true;
end $$;
comment on function pgsched.cancel_bulk_change(uuid, text)
  is 'Ends a bulk change: what it has not come to stays as it is. False if it had ended before; PS010 for an unknown id.';
