-- Logical replication sends a subscriber rows, but no tables. So these triggers create and drop the tables together
-- with the rows that represent them. The triggers fire only for changes that replication applies, so they cost nothing
-- where pgsched runs. They are row triggers, because replication fires no statement triggers.

create or replace function pgsched_internal.queue_followed() returns trigger
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  partition smallint;
begin
  for partition in select pgsched_internal.partitions_of(new.first_partition) loop
    if to_regclass('pgsched_internal.executions_' || partition) is null then
      perform pgsched_internal.make_partition(partition, new.pulled);
    end if;
  end loop;
  execute format('create sequence if not exists pgsched_internal.watch_%s', pgsched_internal.queue_number_of(new.first_partition));
  return null;
end $$;
comment on function pgsched_internal.queue_followed()
  is 'Creates the tables of a queue that was created on the publisher.';
create or replace trigger queue_followed after insert on pgsched.queues
  for each row execute function pgsched_internal.queue_followed();
alter table pgsched.queues enable replica trigger queue_followed;

-- If the necessary locks are not free, the tables stay. The tables of a dropped queue are empty and do no harm.
create or replace function pgsched_internal.dropped_queue_followed() returns trigger
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  partitions constant smallint[] := array(select pgsched_internal.partitions_of(old.first_partition));
  partition smallint;
begin
  lock table only pgsched.executions in access exclusive mode nowait;
  if not exists (select from pgsched.executions e where e.partition = any (partitions)) then
    foreach partition in array partitions loop
      execute format('drop table if exists pgsched_internal.executions_%s', partition);
    end loop;
    execute format('drop sequence if exists pgsched_internal.watch_%s', pgsched_internal.queue_number_of(old.first_partition));
  end if;
  return null;
exception when lock_not_available then return null;
end $$;
comment on function pgsched_internal.dropped_queue_followed()
  is 'Drops the tables of a queue that was dropped on the publisher.';
create or replace trigger dropped_queue_followed after delete on pgsched.queues
  for each row when (old.name <> 'default') execute function pgsched_internal.dropped_queue_followed();
alter table pgsched.queues enable replica trigger dropped_queue_followed;

-- The table of a day is created at once, because rows may be sent to it by name. The table is attached as a partition
-- at once if the necessary locks are free; if not, when a later day is created. Until then, rows sent to the parent go
-- to the default partition.
create or replace function pgsched_internal.days_followed() returns trigger
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  made record;
begin
  for made in
    select d.name, split_part(d.name, '_', 1) as parent, to_date(right(d.name, 8), 'YYYYMMDD') as day,
           coalesce(c.relispartition, false) as attached
      from pgsched_internal.days d left join pg_class c on c.oid = to_regclass('pgsched_internal.' || d.name)
  loop
    if not made.attached then
      execute format('create table if not exists pgsched_internal.%I (like pgsched.%I including all)', made.name, made.parent);
      perform pgsched_internal.attach_if_free(made.parent, made.day);
    end if;
  end loop;
  return null;
end $$;
comment on function pgsched_internal.days_followed()
  is 'Creates the tables of days that were created on the publisher.';
create or replace trigger days_followed after insert on pgsched_internal.days
  for each row execute function pgsched_internal.days_followed();
alter table pgsched_internal.days enable replica trigger days_followed;

-- A table that a reader keeps from being dropped now is dropped together with a later day.
create or replace function pgsched_internal.dropped_day_followed() returns trigger
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  parent constant text := split_part(old.name, '_', 1);
  ended constant timestamptz := (to_date(right(old.name, 8), 'YYYYMMDD') + 1)::timestamp at time zone 'UTC';
  name text;
begin
  execute format('delete from pgsched_internal.%1$I where %2$I >= %3$L and %2$I < %4$L', parent || '_default', pgsched_internal.day_column(parent),
    ended - interval '1 day', ended);
  execute format('lock table only pgsched.%I in access exclusive mode nowait', parent);
  execute format('lock table pgsched_internal.%I in access exclusive mode nowait', parent || '_default');
  for name in
    select c.relname from pg_class c
     where c.relnamespace = 'pgsched_internal'::regnamespace and c.relkind = 'r' and c.relname ~ format('^%s_[0-9]{8}$', parent)
       and c.relname <= old.name and not exists (select from pgsched_internal.days d where d.name = c.relname)
     order by c.relname
  loop
    execute format('lock table pgsched_internal.%I in access exclusive mode nowait', name);
    execute format('drop table pgsched_internal.%I', name);
  end loop;
  return null;
exception when lock_not_available then return null;
end $$;
comment on function pgsched_internal.dropped_day_followed()
  is 'Drops the tables of days that were dropped on the publisher, up to the given day.';
create or replace trigger dropped_day_followed after delete on pgsched_internal.days
  for each row execute function pgsched_internal.dropped_day_followed();
alter table pgsched_internal.days enable replica trigger dropped_day_followed;

-- A sequence that is ahead of its table stays unchanged, because it may be in use.
create or replace function pgsched_internal.advance_sequences() returns void
  language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  item record;
begin
  for item in
    select d.objid::regclass as sequence, d.refobjid::regclass as owner, a.attname as name
      from pg_depend d join pg_class s on s.oid = d.objid and s.relkind = 'S'
      join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
     where d.deptype = 'i' and s.relnamespace in ('pgsched'::regnamespace, 'pgsched_internal'::regnamespace)
  loop
    execute format('select setval(%L, newest) from (select max(%I) as newest from %s) o where newest > coalesce(pg_sequence_last_value(%L), 0)',
      item.sequence, item.name, item.owner, item.sequence);
  end loop;
end $$;
comment on function pgsched_internal.advance_sequences()
  is 'Advances each sequence to the highest number in its table, because replication sends rows but no sequences. Called
by migrations.';
