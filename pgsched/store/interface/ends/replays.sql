-- Many dead letters at once. They are looked through in the order of their ids, so many at a time: no statement takes
-- long, or locks more than it deals with, however many there are. The functions that do it forbid sorting: where the
-- statistics lag behind, all dead letters would be read and sorted for each part of them.

create or replace function pgsched_internal.check_filter_members(filter jsonb, things text, known text[]) returns boolean
  language plpgsql immutable parallel safe as $$
declare
  unknown text;
  wrong text;
begin
  perform pgsched_internal.check_length(filter, 'the filter is', 16384);
  if filter is null or jsonb_typeof(filter) <> 'object' then
    return pgsched_internal.refuse('PS000', 'the filter must be a JSON object', 'write {"client": "payments", "host": "shop.example"}');
  end if;
  select string_agg(name, ', ') into unknown from jsonb_object_keys(filter) as name where name <> all (known);
  if unknown is not null then
    return pgsched_internal.refuse('PS000', format('%s cannot be filtered by %s', things, left(unknown, 200)),
      format('the filters are %s', array_to_string(known, ', ')));
  elsif filter - 'status' in ('{}', '{"labels": {}}') then
    return pgsched_internal.refuse('PS000', 'there is no filter', 'give at least one, such as {"client": "payments"}');
  end if;
  select string_agg(name, ', ') into wrong from jsonb_each(filter) as f(name, value)
   where name not in ('status', 'status_code', 'labels') and (jsonb_typeof(value) <> 'string' or value = '""');
  if wrong is not null then
    return pgsched_internal.refuse('PS000', format('%s must be text', wrong), 'write {"client": "payments", "host": "shop.example"}');
  elsif pgsched_internal.canonical_host(filter ->> 'host') ~ ':[0-9]+$' then
    return pgsched_internal.refuse('PS000', format('the host %L has a port', left(filter ->> 'host', 100)), 'leave the port out: the host is found at all of its ports');
  elsif filter ? 'job' and filter ->> 'job' !~* '^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$' then
    return pgsched_internal.refuse('PS000', 'job must be the id of a job', 'look it up in pgsched.jobs');
  elsif exists (select from unnest(array['from', 'to']) as bound where filter ? bound and not pgsched_internal.is_instant(filter -> bound)) then
    return pgsched_internal.refuse('PS002', 'from and to must be instants with an offset', 'write {"from": "2026-03-01T09:00:00Z"}');
  end if;
  return not filter ? 'labels' or pgsched_internal.check_labels(filter -> 'labels');
end $$;
comment on function pgsched_internal.check_filter_members(jsonb, text, text[])
  is 'True for a filter with at least one of these members beside status, each of its type; raises PS000 or PS002 with what to write otherwise.';

create or replace function pgsched_internal.check_dead_letter_filter(filter jsonb) returns boolean
  language plpgsql immutable parallel safe as $$
begin
  perform pgsched_internal.check_filter_members(filter, 'dead letters',
    array['client', 'target', 'host', 'job', 'key', 'from', 'to', 'reason', 'status_code', 'labels']);
  if filter ? 'status_code' and (jsonb_typeof(filter -> 'status_code') <> 'number'
      or (filter ->> 'status_code')::numeric not between 100 and 599 or (filter ->> 'status_code')::numeric % 1 <> 0) then
    return pgsched_internal.refuse('PS000', 'status_code must be a whole number from 100 to 599', 'write {"status_code": 503}');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_dead_letter_filter(jsonb)
  is 'True for a filter of dead letters with at least one member; raises PS000 or PS002 with what to write otherwise.';

create or replace function pgsched_internal.look_through_dead_letters(
  filter jsonb, clients text[], after uuid, before timestamptz, many integer
) returns table (id uuid, finished_at timestamptz, named boolean) language sql stable as $$
  select d.id, d.finished_at,
         (filter ->> 'client' is null or d.client_id = filter ->> 'client') and (clients is null or d.client_id = any (clients))
         and (filter ->> 'target' is null or starts_with(d.target, filter ->> 'target'))
         and (filter ->> 'host' is null or d.host is not distinct from pgsched_internal.canonical_host(filter ->> 'host'))
         and (filter ->> 'job' is null or d.job_id is not distinct from (filter ->> 'job')::uuid)
         and (filter ->> 'key' is null or d.key is not distinct from filter ->> 'key')
         and (filter ->> 'from' is null or d.finished_at >= (filter ->> 'from')::timestamptz)
         and (filter ->> 'to' is null or d.finished_at < (filter ->> 'to')::timestamptz)
         and (filter ->> 'reason' is null or position(lower(filter ->> 'reason') in lower(coalesce(d.reason, ''))) > 0)
         and (filter ->> 'status_code' is null or d.status_code is not distinct from (filter ->> 'status_code')::smallint)
         and (filter -> 'labels' is null or (d.labels @> (filter -> 'labels')) is true)
    from pgsched.dead_letters d
   where d.id > coalesce(after, '00000000-0000-0000-0000-000000000000') and d.dealt_with_at is null and d.finished_at < before
   order by d.id limit many
$$;
comment on function pgsched_internal.look_through_dead_letters(jsonb, text[], uuid, timestamptz, integer)
  is 'The next open dead letters after an id, and which of them a filter names.';

create or replace function pgsched.count_dead_letters(
  filter jsonb, within interval default '5 seconds', out matched bigint, out complete boolean
) language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set enable_sort = off set enable_hashjoin = off as $$
declare
  until constant timestamptz := pgsched_internal.end_of(within);
  whose constant text[] := pgsched_internal.clients_acted_for();
  seen integer;
  named bigint;
  reached uuid;
begin
  perform pgsched_internal.check_dead_letter_filter(filter);
  matched := 0;
  loop
    select count(*), count(*) filter (where f.named), (array_agg(f.id order by f.id desc))[1] into seen, named, reached
      from pgsched_internal.look_through_dead_letters(filter, whose, reached, pgsched.now() + interval '1 hour', 10000) f;
    matched := matched + named;
    complete := seen < 10000;
    exit when complete or clock_timestamp() > until;
  end loop;
end $$;
comment on function pgsched.count_dead_letters(jsonb, interval)
  is 'How many open dead letters a filter names, as far as they can be counted in so long.';

create or replace function pgsched_internal.discard_open(ids uuid[], actor text) returns integer language plpgsql volatile as $$
declare
  who constant text := coalesce(actor, pgsched_internal.acting_role());
  in_history integer;
  kept integer;
begin
  perform from pgsched.history h where h.id = any (ids) and h.status = 'failed' order by h.id for update;
  update pgsched.history h set dealt_with_at = pgsched.now(), dealt_with_by = who
   where h.id = any (ids) and h.status = 'failed' and h.dealt_with_at is null;
  get diagnostics in_history = row_count;
  perform from pgsched_internal.kept_dead_letters k where k.id = any (ids) order by k.id for update;
  update pgsched_internal.kept_dead_letters k set dealt_with_at = pgsched.now(), dealt_with_by = who
   where k.id = any (ids) and k.dealt_with_at is null;
  get diagnostics kept = row_count;
  perform pgsched_internal.unblock_after(ids);
  return in_history + kept;
end $$;
comment on function pgsched_internal.discard_open(uuid[], text) is 'Discards those of these dead letters that are open; how many.';

create or replace function pgsched.discard_all(
  filter jsonb, most integer default 10000, note text default null, actor text default null, out discarded integer, out complete boolean
) language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set enable_sort = off set enable_hashjoin = off as $$
declare
  until constant timestamptz := clock_timestamp() + interval '5 seconds';
  whose constant text[] := pgsched_internal.clients_acted_for();
  ids uuid[];
  reached uuid;
begin
  perform pgsched_internal.check_said(discard_all.note, discard_all.actor);
  perform pgsched_internal.check_dead_letter_filter(filter);
  if most is null or most not between 1 and 1000000 then
    perform pgsched_internal.refuse('PS000', 'most must be from 1 to 1000000', 'leave it out, and call again until it is complete');
  end if;
  discarded := 0;
  loop
    select array_agg(f.id order by f.id) filter (where f.named), (array_agg(f.id order by f.id desc))[1], count(*) < 1000
      into ids, reached, complete
      from pgsched_internal.look_through_dead_letters(filter, whose, reached, pgsched.now() + interval '1 hour', 1000) f;
    if cardinality(ids) > most - discarded then
      ids := ids[:most - discarded];
      complete := false;
    end if;
    discarded := discarded + pgsched_internal.discard_open(ids, discard_all.actor);
    exit when complete or discarded >= most or clock_timestamp() > until;
  end loop;
  if discarded > 0 then
    perform pgsched_internal.write_log('discard all', null, discard_all.actor,
      jsonb_strip_nulls(jsonb_build_object('filter', filter, 'discarded', discarded, 'note', discard_all.note)), after => '{"state": "discarded"}',
      client => filter ->> 'client');
  end if;
end $$;
comment on function pgsched.discard_all(jsonb, integer, text, text)
  is 'Discards the open dead letters that a filter names, no more than most and for some seconds at most: how many, and whether
these were all. PS000 or PS002 for a filter that cannot be meant.';

create or replace function pgsched.replay_all(
  filter jsonb, rate double precision default 10, target text default null, note text default null, actor text default null
) returns uuid language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  asked pgsched.bulk_changes;
begin
  perform pgsched_internal.check_dead_letter_filter(filter);
  if replay_all.target is not null then
    perform pgsched_internal.check_target(replay_all.target);
  end if;
  asked := pgsched_internal.ask_for_many('replay', filter, rate, replay_all.note, replay_all.actor, target => replay_all.target);
  perform pgsched_internal.write_log('replay all', asked.id, replay_all.actor, jsonb_strip_nulls(jsonb_build_object(
    'filter', filter, 'rate', rate, 'target', replay_all.target, 'note', replay_all.note)), 'bulk change');
  return asked.id;
end $$;
comment on function pgsched.replay_all(jsonb, double precision, text, text, text)
  is 'Replays the open dead letters that a filter names and that have failed by now, at most rate of them a second, at another
target where one is given. Returns the id of the row in pgsched.bulk_changes that shows its progress. PS000, PS001 or PS002 for
what cannot be meant, PS012 for another client''s.';
