-- History, attempts and rollups are partitioned by day. Partitions are created ahead of time, and dropped whole once
-- their dead letters have been moved out. These functions are for workers and run with the rights of the tables' owner.
-- They never wait for a table lock, because all later sessions would have to wait behind them. If a lock is not free at
-- once, the step is retried a moment later in a new transaction, and nothing stays locked in between.

create or replace function pgsched_internal.day_table(parent text, day date) returns text language sql immutable parallel safe as $$
  select parent || to_char(day, '_YYYYMMDD')
$$;
comment on function pgsched_internal.day_table(text, date) is 'The name of a table''s partition for a day.';

create or replace function pgsched_internal.day_column(parent text) returns text language sql immutable parallel safe
  return case parent when 'rollups' then 'minute' else 'finished_at' end;
comment on function pgsched_internal.day_column(text) is 'The column by which a table is partitioned into days.';

-- The days come from the bounds of the partitions. A table that was made for missing days may cover several days; it is
-- named after the last of these days.
create or replace function pgsched_internal.days_of(parent text) returns table (name text, first_day date, last_day date)
  language sql stable set search_path = pg_catalog, pg_temp set timezone = 'UTC' set datestyle = 'ISO, MDY' as $$
  select c.relname::text, split_part(b.bound, '''', 2)::timestamptz::date, split_part(b.bound, '''', 4)::timestamptz::date - 1
    from pg_inherits i join pg_class c on c.oid = i.inhrelid cross join lateral pg_get_expr(c.relpartbound, c.oid) as b(bound)
   where i.inhparent = to_regclass('pgsched.' || quote_ident(days_of.parent)) and c.relname <> days_of.parent || '_default'
$$;
comment on function pgsched_internal.days_of(text)
  is 'The day partitions of a table, each with its first and its last day.';

-- Days that have rows in the default partition are left to adopt_strays.
create or replace function pgsched_internal.days_to_make(ahead integer) returns table (parent text, day date)
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  today constant date := (pgsched.now() at time zone 'UTC')::date;
  is_taken boolean;
begin
  for day, parent in
    select today + n, p.name from generate_series(0, ahead) n, unnest(array['history', 'attempts', 'rollups']) p(name)
     where not exists (select from pgsched_internal.days_of(p.name) d where today + n between d.first_day and d.last_day)
     order by n, p.name
  loop
    execute format('select exists (select from pgsched_internal.%1$I where %2$I >= %3$L and %2$I < %4$L)', parent || '_default',
      pgsched_internal.day_column(parent), day::text || ' 00:00+00', (day + 1)::text || ' 00:00+00') into is_taken;
    if not is_taken then
      return next;
    end if;
  end loop;
end $$;
comment on function pgsched_internal.days_to_make(integer)
  is 'Of today and the given number of days ahead, those for which history, attempts or rollups have no partition yet.';

create or replace function pgsched_internal.make_day(parent text, day date) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set lock_timeout = '50ms' as $$
begin
  if parent not in ('history', 'attempts', 'rollups') or not pgsched_internal.try_lock('days') then
    return false;
  end if;
  execute format('create table if not exists pgsched_internal.%I (like pgsched.%I including all)',
    pgsched_internal.day_table(parent, day), parent);
  return true;
exception when lock_not_available then return false;
end $$;
comment on function pgsched_internal.make_day(text, date)
  is 'Creates the table of a day, without attaching it as a partition. False if another worker is creating or dropping
days.';

-- Attaching needs an exclusive lock on the default partition, and every query of history locks that partition, too.
create or replace function pgsched_internal.attach_if_free(parent text, day date) returns boolean
  language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
  execute format('lock table only pgsched.%I in share update exclusive mode nowait', parent);
  execute format('lock table pgsched_internal.%I in access exclusive mode nowait', parent || '_default');
  execute format('alter table pgsched.%I attach partition pgsched_internal.%I for values from (%L) to (%L)', parent,
    pgsched_internal.day_table(parent, day), day::text || ' 00:00+00', (day + 1)::text || ' 00:00+00');
  return true;
exception
  when lock_not_available then return false;
  when check_violation then return null;  -- the default partition now has rows of that day, and keeps them
end $$;
comment on function pgsched_internal.attach_if_free(text, date)
  is 'Attaches the table of a day as a partition. False if the necessary locks are not free; null if the default
partition has rows of that day.';

create or replace function pgsched_internal.attach_day(parent text, day date) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  attached boolean;
begin
  if parent not in ('history', 'attempts', 'rollups') or not pgsched_internal.try_lock('days') then
    return false;
  elsif exists (select from pg_inherits i
                 where i.inhrelid = to_regclass(format('pgsched_internal.%I', pgsched_internal.day_table(parent, day)))) then
    return true;  -- another worker has attached it
  end if;
  attached := pgsched_internal.attach_if_free(parent, day);
  if attached then
    insert into pgsched_internal.days (name) values (pgsched_internal.day_table(parent, day)) on conflict do nothing;
  elsif attached is null then
    execute format('drop table pgsched_internal.%I', pgsched_internal.day_table(parent, day));
  end if;
  return attached is distinct from false;
end $$;
comment on function pgsched_internal.attach_day(text, date)
  is 'Attaches the table of a day as a partition, if the necessary locks are free. True if the table is a partition
afterwards.';

create or replace function pgsched_internal.rollup_days() returns integer language sql immutable parallel safe return 30;
comment on function pgsched_internal.rollup_days() is 'The number of days for which rollups are kept.';

create or replace function pgsched_internal.may_go(day date) returns boolean language sql stable as $$
  select not exists (select from pgsched.installation i where i.archive_history)
         or exists (select from pgsched_internal.archived_days a where a.day = may_go.day)
$$;
comment on function pgsched_internal.may_go(date)
  is 'True if a day of history may be dropped: it has been archived, or does not have to be.';

create or replace function pgsched_internal.days_to_archive() returns setof date
  language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  with old as (
    select (pgsched.now() at time zone 'UTC')::date - i.history_days as day from pgsched.installation i
  ), found as (
    select to_date(right(c.relname, 8), 'YYYYMMDD') as day from pg_class c
     where c.relnamespace = 'pgsched_internal'::regnamespace and c.relkind = 'r' and c.relname ~ '^(history|attempts)_[0-9]{8}$'
    union select day::date from unnest(array['history', 'attempts']) p(name), pgsched_internal.days_of(p.name) d,
                                generate_series(d.first_day, d.last_day, interval '1 day') day
    union select (h.finished_at at time zone 'UTC')::date from pgsched_internal.history_default h
    union select (a.finished_at at time zone 'UTC')::date from pgsched_internal.attempts_default a
  )
  select f.day from found f, old where f.day < old.day
     and not exists (select from pgsched_internal.archived_days a where a.day = f.day) order by 1
$$;
comment on function pgsched_internal.days_to_archive()
  is 'The days of history and attempts that have exceeded the installation''s retention and have not been archived.';

-- The history of a past day no longer changes, except when its dead letters are replayed or discarded.
create or replace function pgsched_internal.mark_archived(day date, actor text default null) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pgsched_internal.check_said(null, mark_archived.actor);
  perform pgsched_internal.check_administers();
  if day is null or day not between '1970-01-01' and (pgsched.now() at time zone 'UTC')::date - 1 then
    perform pgsched_internal.refuse('PS002', format('%s is not a past day', coalesce(day::text, 'null')), 'write a day from 1970-01-01 to yesterday, in UTC');
  end if;
  insert into pgsched_internal.archived_days as a (day) values (mark_archived.day) on conflict do nothing;
  if not found then
    return false;
  end if;
  perform pgsched_internal.write_log('mark archived', null, mark_archived.actor, null, 'day', day::text, null, jsonb_build_object('state', 'archived'));
  return true;
end $$;
comment on function pgsched_internal.mark_archived(date, text)
  is 'Records that a day of history and attempts has been archived, so that the day may be dropped. False if this was
recorded before. Raises PS002 for a day that is not over.';

create or replace function pgsched_internal.days_to_drop(kept integer) returns setof text
  language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select c.relname::text from pg_class c
   where c.relnamespace = 'pgsched_internal'::regnamespace and c.relkind = 'r' and c.relname ~ '^(history|attempts|rollups)_[0-9]{8}$'
     and to_date(right(c.relname, 8), 'YYYYMMDD')
         < (pgsched.now() at time zone 'UTC')::date - case when c.relname like 'rollups%' then pgsched_internal.rollup_days() else kept end
     and (c.relname like 'rollups%' or pgsched_internal.may_go(to_date(right(c.relname, 8), 'YYYYMMDD')))
     and not exists (select from pgsched_internal.days_of(split_part(c.relname, '_', 1)) d, generate_series(d.first_day, d.last_day - 1, interval '1 day') day
                      where d.name = c.relname and d.name !~ '^rollups' and not pgsched_internal.may_go(day::date))
   order by right(c.relname, 8), c.relname
$$;
comment on function pgsched_internal.days_to_drop(integer)
  is 'The names of the day tables to drop. Tables of history and attempts must be older than the given number of days
and not need archiving first; tables of rollups must be older than rollup_days().';

create or replace function pgsched_internal.drop_day(name text) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  parent constant text := split_part(name, '_', 1);
  unmoved boolean;
begin
  if name !~ '^(history|attempts|rollups)_[0-9]{8}$' or not pgsched_internal.try_lock('days') then
    return false;
  elsif to_regclass(format('pgsched_internal.%I', name)) is null then
    return true;
  elsif parent = 'history' then
    execute format('select exists (select from pgsched_internal.%I h where h.status = ''failed'' and h.dealt_with_at is null'
      ' and pgsched_internal.is_kept(h.client_id, h.finished_at))', name) into unmoved;
    if unmoved then
      return null;  -- the table is dropped once its dead letters have been moved
    end if;
  end if;
  execute format('lock table only pgsched.%I in access exclusive mode nowait', parent);
  execute format('lock table pgsched_internal.%I in access exclusive mode nowait', parent || '_default');
  execute format('lock table pgsched_internal.%I in access exclusive mode nowait', name);
  execute format('drop table pgsched_internal.%I', name);
  delete from pgsched_internal.days d where d.name = drop_day.name;
  return true;
exception when lock_not_available then return false;
end $$;
comment on function pgsched_internal.drop_day(text)
  is 'Drops the table of a day. False if the necessary locks are not free; null if the table still has open dead
letters.';

create or replace function pgsched_internal.trim_default_days(kept integer, most integer) returns integer
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  oldest constant timestamptz := ((pgsched.now() at time zone 'UTC')::date - kept)::timestamp at time zone 'UTC';
  count integer;
  total integer := 0;
begin
  delete from pgsched_internal.history_default d where d.ctid = any (array(
    select h.ctid from pgsched_internal.history_default h
     where h.finished_at < oldest and pgsched_internal.may_go((h.finished_at at time zone 'UTC')::date)
       and not (h.status = 'failed' and h.dealt_with_at is null and pgsched_internal.is_kept(h.client_id, h.finished_at))
     limit most for update skip locked));
  get diagnostics count = row_count;
  total := count;
  delete from pgsched_internal.attempts_default d where d.ctid = any (array(
    select a.ctid from pgsched_internal.attempts_default a
     where a.finished_at < oldest and pgsched_internal.may_go((a.finished_at at time zone 'UTC')::date) limit most for update skip locked));
  get diagnostics count = row_count;
  total := greatest(total, count);
  delete from pgsched_internal.rollups_default d where d.ctid = any (array(
    select r.ctid from pgsched_internal.rollups_default r
     where r.minute < oldest + make_interval(days => kept - pgsched_internal.rollup_days()) limit most for update skip locked));
  get diagnostics count = row_count;
  return greatest(total, count);
end $$;
comment on function pgsched_internal.trim_default_days(integer, integer)
  is 'Deletes rows older than the given number of days from the default partitions, up to a limit in each. Returns the
largest number of rows deleted from one partition.';

create or replace function pgsched_internal.is_kept(client text, finished_at timestamptz) returns boolean language sql stable as $$
  select is_kept.finished_at > pgsched.now() - coalesce(
    (select c.dead_letters_for from pgsched.clients c where c.client_id = is_kept.client), interval '365 days')
$$;
comment on function pgsched_internal.is_kept(text, timestamptz)
  is 'True if a dead letter of this client that failed at this time has not yet expired.';

-- Moves the rows in a single statement, so that a dead letter is in exactly one of the two tables at any moment.
create or replace function pgsched_internal.keep_dead_letters(kept integer, most integer) returns integer
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  oldest constant timestamptz := ((pgsched.now() at time zone 'UTC')::date - kept)::timestamp at time zone 'UTC';
  moved integer;
begin
  if not pgsched_internal.try_lock('days') then
    return 0;
  end if;
  with taken as (
    select h.id, h.finished_at from pgsched.history h
     where h.status = 'failed' and h.dealt_with_at is null and h.finished_at < oldest
       and pgsched_internal.is_kept(h.client_id, h.finished_at)
     limit most for update skip locked
  ), gone as (
    delete from pgsched.history h using taken t where h.id = t.id and h.finished_at = t.finished_at returning h.*
  )
  insert into pgsched_internal.kept_dead_letters
  select g.*, coalesce((select jsonb_agg(to_jsonb(a) - 'execution_id' - 'client_id' order by a.attempt, a.finished_at)
                          from pgsched.attempts a where a.execution_id = g.id), '[]')
    from gone g
  on conflict do nothing;
  get diagnostics moved = row_count;
  return moved;
end $$;
comment on function pgsched_internal.keep_dead_letters(integer, integer)
  is 'Moves open dead letters, up to a limit, out of the days of history that are to be dropped. Returns how many it
moved.';
