-- Rows of a day that has no table are in the default partition. To create that day's partition, PostgreSQL would scan
-- the default partition under a lock that stops everything, and the rows would have to be deleted one by one. So the
-- default partition itself becomes the table of the days that it contains, and an empty partition replaces it. No row
-- is moved. Each step is a separate transaction that never waits for a lock; the next run continues from the state that
-- it finds.

-- Rows must not be moved to a new partition in batches, because readers must find every row at any moment, and a day
-- cannot become a partition until all of its rows have left the default partition.
create or replace function pgsched_internal.stray_days(parent text, out first_day date, out last_day date)
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  execute format('select (min(%1$I) at time zone ''UTC'')::date, (max(%1$I) at time zone ''UTC'')::date from pgsched_internal.%2$I',
    pgsched_internal.day_column(parent), parent || '_default') into first_day, last_day;
end $$;
comment on function pgsched_internal.stray_days(text)
  is 'The first and the last day of the rows in the default partition.';

-- While the constraint from the first step exists, the default partition rejects rows of other days, so other days need
-- tables.
create or replace function pgsched_internal.may_adopt(parent text, first_day date, last_day date) returns boolean
  language sql stable set search_path = pg_catalog, pg_temp as $$
  with days as materialized (select * from pgsched_internal.days_of(may_adopt.parent))
  select not exists (select from days d where d.last_day >= may_adopt.first_day and d.first_day <= may_adopt.last_day)
     and not exists (select from generate_series(0, 1) n, date((pgsched.now() at time zone 'UTC')::date + n) soon
                      where soon not between may_adopt.first_day and may_adopt.last_day
                        and not exists (select from days d where soon between d.first_day and d.last_day))
$$;
comment on function pgsched_internal.may_adopt(text, date, date)
  is 'True if no day in this span has a table, and today and tomorrow each have a table or are in this span.';

create or replace function pgsched_internal.bound_strays(parent text, span text, first_day date, last_day date) returns void
  language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  home constant text := parent || '_default';
  kept_by constant text := pgsched_internal.day_column(parent);
begin
  execute format('lock table pgsched_internal.%I in access exclusive mode nowait', home);
  execute format('alter table pgsched_internal.%I add constraint %I check (%I >= %L and %3$I < %5$L) not valid', home, span, kept_by,
    first_day::text || ' 00:00+00', (last_day + 1)::text || ' 00:00+00');
end $$;
comment on function pgsched_internal.bound_strays(text, text, date, date)
  is 'Makes the default partition accept only rows of these days.';

create or replace function pgsched_internal.unbound_strays(parent text, span text) returns void
  language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
  execute format('lock table pgsched_internal.%I in access exclusive mode nowait', parent || '_default');
  execute format('alter table pgsched_internal.%I drop constraint %I', parent || '_default', span);
end $$;
comment on function pgsched_internal.unbound_strays(text, text)
  is 'Makes the default partition accept rows of any day again.';

-- Nothing is scanned under the locks: the constraint proves that all rows are of these days, and the new default
-- partition is empty.
create or replace function pgsched_internal.swap_default(parent text, span text, first_day date, last_day date) returns void
  language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  home constant text := parent || '_default';
  made constant text := pgsched_internal.day_table(parent, last_day);
  index text;
begin
  execute format('lock table only pgsched.%I in access exclusive mode nowait', parent);
  execute format('lock table pgsched_internal.%I in access exclusive mode nowait', home);
  -- A table that was created but never attached is empty, except on a subscriber of logical replication.
  if to_regclass('pgsched_internal.' || quote_ident(made)) is not null then
    execute format('insert into pgsched_internal.%I select * from pgsched_internal.%I on conflict do nothing', home, made);
    execute format('drop table pgsched_internal.%I', made);
  end if;
  execute format('alter table pgsched.%I detach partition pgsched_internal.%I', parent, home);
  execute format('alter table pgsched_internal.%I rename to %I', home, made);
  for index in select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid
                where i.indrelid = to_regclass('pgsched_internal.' || quote_ident(made)) and c.relname like home || '%' loop
    execute format('alter index pgsched_internal.%I rename to %I', index, made || substr(index, length(home) + 1));
  end loop;
  execute format('create table pgsched_internal.%I (like pgsched.%I including all)', home, parent);
  execute format('alter table pgsched.%I attach partition pgsched_internal.%I default', parent, home);
  execute format('alter table pgsched.%I attach partition pgsched_internal.%I for values from (%L) to (%L)', parent, made,
    first_day::text || ' 00:00+00', (last_day + 1)::text || ' 00:00+00');
  execute format('alter table pgsched_internal.%I drop constraint %I', made, span);
  insert into pgsched_internal.days (name) values (made) on conflict do nothing;
end $$;
comment on function pgsched_internal.swap_default(text, text, date, date)
  is 'Turns the default partition into the table of these days, and creates a new, empty default partition.';

create or replace function pgsched_internal.adopt_strays(parent text) returns text
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' set datestyle = 'ISO, MDY' set lock_timeout = '50ms' as $$
declare
  home constant regclass := to_regclass('pgsched_internal.' || quote_ident(parent || '_default'));
  bound record;
  days record;
  span text;
begin
  if parent not in ('history', 'attempts', 'rollups') or not pgsched_internal.try_lock('days') then
    return 'busy';
  end if;
  select k.conname as name, k.convalidated as is_checked, to_date(split_part(k.conname, '_', 2), 'YYYYMMDD') as first_day,
         to_date(split_part(k.conname, '_', 3), 'YYYYMMDD') as last_day
    into bound from pg_constraint k where k.conrelid = home and k.contype = 'c' and k.conname ~ '^days_[0-9]{8}_[0-9]{8}$';
  if bound.is_checked and pgsched_internal.may_adopt(parent, bound.first_day, bound.last_day) then
    perform pgsched_internal.swap_default(parent, bound.name, bound.first_day, bound.last_day);
    return 'adopted';
  end if;
  days := pgsched_internal.stray_days(parent);
  span := format('days_%s_%s', to_char(days.first_day, 'YYYYMMDD'), to_char(days.last_day, 'YYYYMMDD'));
  if days.first_day is null or not pgsched_internal.may_adopt(parent, days.first_day, days.last_day) then
    if bound.name is not null then
      perform pgsched_internal.unbound_strays(parent, bound.name);
    end if;
    return case when days.first_day is null then 'none' else 'apart' end;
  elsif bound.name is null then
    perform pgsched_internal.bound_strays(parent, span, days.first_day, days.last_day);
  elsif bound.name <> span then
    perform pgsched_internal.unbound_strays(parent, bound.name);
  else
    execute format('lock table %s in share update exclusive mode nowait', home);
    execute format('alter table %s validate constraint %I', home, bound.name);
  end if;
  return 'going on';
exception
  when lock_not_available then return 'busy';
  when check_violation then return 'going on';  -- rows of another day have just arrived, so the span has changed
end $$;
comment on function pgsched_internal.adopt_strays(text)
  is 'Takes the next step towards turning the default partition into the table of the days that it contains. Returns
adopted after the last step, and going on after any other. Returns busy if the necessary locks are not free, none if the
default partition is empty, and apart if its days cannot (yet) become one table.';
