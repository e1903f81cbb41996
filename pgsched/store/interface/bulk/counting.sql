-- Counts the objects that a filter names, within a time limit.

-- Each partition is counted in a block that is rolled back, so that the partition does not stay locked.
create or replace function pgsched_internal.count_executions(
  filter jsonb, clients text[], until timestamptz, out matched bigint, out complete boolean
) language plpgsql volatile set enable_sort = off as $$
declare
  home smallint := pgsched_internal.next_partition(filter, null);
  seen integer;
  named bigint;
  reached uuid;
begin
  matched := 0;
  while home is not null loop
    begin
      execute format('select count(*), count(*) filter (where f.named), (array_agg(f.id order by f.id desc))[1] from ('
                     'select e.id, pgsched_internal.is_named(e::pgsched.executions, $1, $2) as named from %s e.id > $3 order by e.id limit 10000) f',
                     pgsched_internal.in_partition(home))
         into seen, named, reached using filter, clients, coalesce(reached, '00000000-0000-0000-0000-000000000000');
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
comment on function pgsched_internal.count_executions(jsonb, text[], timestamptz)
  is 'The number of live executions that a filter names, and whether all were counted before the given time.';

create or replace function pgsched_internal.count_dead_letters(
  filter jsonb, clients text[], until timestamptz, out matched bigint, out complete boolean
) language plpgsql volatile set enable_sort = off set enable_hashjoin = off as $$
declare
  seen integer;
  named bigint;
  reached uuid;
begin
  matched := 0;
  loop
    select count(*), count(*) filter (where f.named), (array_agg(f.id order by f.id desc))[1] into seen, named, reached
      from pgsched_internal.look_through_dead_letters(filter, clients, reached, pgsched.now() + interval '1 hour', 10000) f;
    matched := matched + named;
    complete := seen < 10000;
    exit when complete or clock_timestamp() > until;
  end loop;
end $$;
comment on function pgsched_internal.count_dead_letters(jsonb, text[], timestamptz)
  is 'The number of open dead letters that a filter names, and whether all were counted before the given time.';

create or replace function pgsched_internal.count_named(
  action text, filter jsonb, clients text[], within interval, out matched bigint, out complete boolean
) language plpgsql volatile as $$
declare
  until timestamptz;
begin
  if within is null or within not between interval '0' and interval '1 hour' then
    perform pgsched_internal.refuse('PS000', format('"within" must be an interval from 0 to 1 hour (got %s)', coalesce(within::text, 'null')), 'write within => ''5 seconds''');
  end if;
  until := clock_timestamp() + within;
  if action in ('cancel', 'reschedule') then
    select c.* into matched, complete from pgsched_internal.count_executions(filter, clients, until) c;
  elsif action in ('replay', 'discard') then
    select c.* into matched, complete from pgsched_internal.count_dead_letters(filter, clients, until) c;
  elsif action = 'backfill' then
    complete := false;  -- only Python can compute a job's instants
  else
    select count(*), true into matched, complete from pgsched_internal.jobs_named(action, filter, clients);
  end if;
end $$;
comment on function pgsched_internal.count_named(text, jsonb, text[], interval)
  is 'The number of objects that an action would change with this filter, and whether all were counted within the time
limit.';
