-- The objects that bulk operations change: live executions, dead letters, instants of a job, or jobs, as named by a
-- filter. Objects are read in the order of their ids, a limited number at a time, so that no statement takes long or
-- locks more than it processes. The functions that read the objects forbid sorting, because with outdated statistics
-- PostgreSQL would read and sort all dead letters for each chunk.

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
    return pgsched_internal.refuse('PS000', 'the filter is empty', 'give at least one field, such as {"client": "payments"}');
  end if;
  select string_agg(name, ', ') into wrong from jsonb_each(filter) as f(name, value)
   where name not in ('status', 'status_code', 'labels') and (jsonb_typeof(value) <> 'string' or value = '""');
  if wrong is not null then
    return pgsched_internal.refuse('PS000', format('%s must be a string', wrong), 'write {"client": "payments", "host": "shop.example"}');
  elsif pgsched_internal.canonical_host(filter ->> 'host') ~ ':[0-9]+$' then
    return pgsched_internal.refuse('PS000', format('the host %L has a port', left(filter ->> 'host', 100)), 'leave the port out; the filter matches every port of the host');
  elsif filter ? 'job' and filter ->> 'job' !~* '^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$' then
    return pgsched_internal.refuse('PS000', '"job" must be the id of a job', 'the ids are in pgsched.jobs');
  elsif exists (select from unnest(array['from', 'to']) as bound where filter ? bound and not pgsched_internal.is_instant(filter -> bound)) then
    return pgsched_internal.refuse('PS002', 'the filters "from" and "to" must be instants with an offset', 'write {"from": "2026-03-01T09:00:00Z"}');
  end if;
  return not filter ? 'labels' or pgsched_internal.check_labels(filter -> 'labels');
end $$;
comment on function pgsched_internal.check_filter_members(jsonb, text, text[])
  is 'True if a filter has only these members, at least one of them besides status, and each of the right type; raises
PS000 or PS002 with a hint otherwise.';

create or replace function pgsched_internal.check_bulk_filter(action text, filter jsonb) returns boolean
  language plpgsql immutable parallel safe as $$
begin
  if action in ('cancel', 'reschedule') then
    perform pgsched_internal.check_filter_members(filter, 'executions',
      array['client', 'status', 'host', 'queue', 'job', 'key', 'from', 'to', 'labels']);
  elsif action in ('replay', 'discard') then
    perform pgsched_internal.check_filter_members(filter, 'dead letters',
      array['client', 'target', 'host', 'job', 'key', 'from', 'to', 'reason', 'status_code', 'labels']);
  elsif action = 'backfill' then
    perform pgsched_internal.check_filter_members(filter, 'instants', array['job', 'from', 'to']);
    if not filter ?& array['job', 'from', 'to'] then
      return pgsched_internal.refuse('PS000', 'a backfill needs the filters "job", "from" and "to"',
        'write {"job": "…", "from": "2026-02-01T00:00:00Z", "to": "2026-03-01T00:00:00Z"}');
    end if;
  else
    perform pgsched_internal.check_filter_members(filter, 'jobs', array['client', 'labels']);
  end if;
  if filter ? 'status' and (jsonb_typeof(filter -> 'status') not in ('string', 'array') or exists (
       select from jsonb_array_elements(case jsonb_typeof(filter -> 'status') when 'array' then filter -> 'status' else jsonb_build_array(filter -> 'status') end) s(value)
        where s.value not in ('"scheduled"', '"retrying"', '"held"', '"running"'))) then
    return pgsched_internal.refuse('PS000', 'status must be one or more of scheduled, retrying, held and running',
      'write {"client": "payments", "status": ["scheduled", "retrying"]}; to replay failed executions, use the action replay');
  elsif filter ? 'status_code' and (jsonb_typeof(filter -> 'status_code') <> 'number'
      or (filter ->> 'status_code')::numeric not between 100 and 599 or (filter ->> 'status_code')::numeric % 1 <> 0) then
    return pgsched_internal.refuse('PS000', 'status_code must be a whole number from 100 to 599', 'write {"status_code": 503}');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_bulk_filter(text, jsonb)
  is 'True if a filter is valid for this action; raises PS000 or PS002 with a hint otherwise.';

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
  is 'True if a filter names this live execution and it belongs to one of these clients. The queue is not checked,
because it determines which partitions are read.';

create or replace function pgsched_internal.next_partition(filter jsonb, partition smallint) returns smallint language sql stable as $$
  select min(p) from pgsched.queues q, pgsched_internal.partitions_of(q.first_partition) p
   where (filter ->> 'queue' is null or q.name = filter ->> 'queue') and p > coalesce(next_partition.partition, -1)
$$;
comment on function pgsched_internal.next_partition(jsonb, smallint)
  is 'The first partition that may contain objects that a filter names or, if a partition is given, the next such
partition after it; null if there is none.';

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
  is 'The next open dead letters after an id, each with a flag for whether a filter names it.';

create or replace function pgsched_internal.jobs_named(action text, filter jsonb, clients text[])
  returns table (id uuid, state pgsched.job_state) language sql stable as $$
  select j.id, j.state from pgsched.jobs j
   where (filter ->> 'client' is null or j.client_id = filter ->> 'client') and (clients is null or j.client_id = any (clients))
     and (filter -> 'labels' is null or j.labels @> (filter -> 'labels'))
     and j.state = any (case action when 'pause' then '{active}' when 'resume' then '{paused}' else '{active,paused,invalid,finished}' end::pgsched.job_state[])
   order by j.id
$$;
comment on function pgsched_internal.jobs_named(text, jsonb, text[])
  is 'The jobs of these clients that a filter names and whose state allows this action.';
