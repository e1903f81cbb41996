-- Finding an execution by its id alone. A lock on each partition that is searched would last until the caller's
-- transaction ends, and the server has one lock table for everyone. So a search that finds nothing runs in a block that
-- is rolled back, which releases its locks; and ids that we make say which partition to search first.

-- A statement that a session has run five times is also planned for all partitions at once, to see whether that plan
-- can be cached, and planning takes locks. So every statement that a client's call runs on executions or history is
-- planned for its values each time (plan_cache_mode), which would be the result in any case.

-- As pgsched_internal.new_id(), but the first of its 62 random bits is set, and the next fifteen are the partition.
create or replace function pgsched_internal.new_id_in(partition smallint) returns uuid language sql volatile parallel safe
  return ('0' || overlay(to_hex((date_part('epoch', clock_timestamp()) * 4096000)::bigint) placing '7' from 12 for 0)
    || to_hex(-6917529027641081856 | (partition::bigint << 46) | (random() * 70368744177663)::bigint))::uuid;
comment on function pgsched_internal.new_id_in(smallint)
  is 'A new id, as from pgsched_internal.new_id(), that carries the partition of its row.';

create or replace function pgsched_internal.partition_in(id uuid) returns smallint language sql immutable parallel safe as $$
  select case when substr(id::text, 15, 1) = '7' and substr(id::text, 20, 1) in ('a', 'b')
              then (('x' || translate(substr(id::text, 20), '-', ''))::bit(64)::bigint >> 46 & 32767)::smallint end
$$;
comment on function pgsched_internal.partition_in(uuid)
  is 'The partition that an id carries; null if it carries none. Only a hint: an id made elsewhere may look as if it
did.';

-- History is searched a week at a time, in the order in which a row is likely to be found: forward from an instant,
-- then back from it; or back from now.
create or replace function pgsched_internal.weeks_of_history(since timestamptz) returns table (low timestamptz, high timestamptz)
  language plpgsql stable as $$
declare
  latest constant timestamptz := greatest(clock_timestamp(), pgsched.now()) + interval '1 minute';
  oldest constant timestamptz := (
    select min(to_date(right(c.relname, 8), 'YYYYMMDD'))::timestamp at time zone 'UTC'
      from pg_catalog.pg_inherits i join pg_catalog.pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'pgsched.history'::regclass and c.relname ~ '^history_[0-9]{8}$');
  start constant timestamptz := least(greatest(since, oldest), latest);
begin
  low := start;
  while low < latest loop
    high := least(low + interval '7 days', latest);
    return next;
    low := high;
  end loop;
  high := start;
  while high > oldest loop
    low := greatest(high - interval '7 days', oldest);
    return next;
    high := low;
  end loop;
  low := '-infinity';
  return next;
end $$;
comment on function pgsched_internal.weeks_of_history(timestamptz)
  is 'All of history in parts of at most a week: from an instant on, then back from it. Rows from before the first day
come last.';

-- The condition, with the order after it, is always a text written in these files.
create or replace function pgsched_internal.first_in_history(
  condition text, since timestamptz, id uuid default null, client text default null, key text default null, instant timestamptz default null,
  onward boolean default false
) returns pgsched.history language plpgsql volatile as $$
declare
  found_row pgsched.history;
  week record;
begin
  for week in select w.low, w.high from pgsched_internal.weeks_of_history(since) w where not onward or w.high > since loop
    begin
      execute format('select h.* from pgsched.history h where h.finished_at >= $1 and h.finished_at < $2 and %s limit 1', condition)
         into found_row using week.low, week.high, first_in_history.id, client, first_in_history.key, instant;
      raise sqlstate 'PSUND';
    exception when sqlstate 'PSUND' then null;
    end;
    exit when found_row.id is not null;
  end loop;
  return found_row;
end $$;
comment on function pgsched_internal.first_in_history(text, timestamptz, uuid, text, text, timestamptz, boolean)
  is 'The first row of history that meets a condition, in which $3 to $6 are id, client, key and instant; null if there
is none. Weeks before the instant are skipped if the search is only onward. Holds no lock afterwards.';

create or replace function pgsched_internal.in_history(id uuid) returns pgsched.history language plpgsql volatile as $$
begin
  return pgsched_internal.first_in_history('h.id = $3 order by h.status = ''failed'' desc, h.finished_at desc',
    case when substr(in_history.id::text, 15, 1) = '7' then to_timestamp(
      ('x' || translate(left(in_history.id::text, 13), '-', ''))::bit(48)::bigint / 1000.0) - interval '1 minute' end, id => in_history.id);
end $$;
comment on function pgsched_internal.in_history(uuid)
  is 'The row of an execution in history; null if there is none. Holds no lock afterwards.';

create or replace function pgsched_internal.last_under(client text, key text) returns uuid language plpgsql volatile as $$
begin
  return (pgsched_internal.first_in_history('h.client_id = $4 and h.key = $5 order by h.finished_at desc', 'infinity',
    client => last_under.client, key => last_under.key)).id;
end $$;
comment on function pgsched_internal.last_under(text, text)
  is 'The execution that ended last under a key, however long ago; null if history has none.';

-- Names the partition's table, so that only its own index can be used for an id, however few rows the statistics claim.
-- If the table is missing or belongs to another role, names the whole table and the partition.
create or replace function pgsched_internal.in_partition(partition smallint, change text default '') returns text language sql stable as $$
  select case when has_table_privilege(to_regclass('pgsched_internal.executions_' || partition), 'UPDATE')
              then format('pgsched_internal.executions_%s e %s where', partition, change)
              else format('pgsched.executions e %s where e.partition = %s and', change, partition) end
$$;
comment on function pgsched_internal.in_partition(smallint, text)
  is 'The part of a query for the rows of a partition, up to its further conditions: … e where; or, for an update, with
what it sets.';

create or replace function pgsched_internal.live_execution(partition smallint, id uuid) returns pgsched.executions
  language plpgsql volatile as $$
declare
  found_row pgsched.executions;
begin
  if live_execution.partition is not null then
    execute format('select e.* from %s e.id = $1', pgsched_internal.in_partition(live_execution.partition))
       into found_row using live_execution.id;
  end if;
  return found_row;
end $$;
comment on function pgsched_internal.live_execution(smallint, uuid)
  is 'A waiting or running execution in the partition where it lives; null if it is not there. Locks no row.';

-- Ended executions are looked up before all partitions are searched. A row that moves to history meanwhile is found by
-- callers that search history after this.
create or replace function pgsched_internal.partition_with(id uuid) returns smallint language plpgsql volatile as $$
declare
  likely constant smallint := pgsched_internal.partition_in(id);
  first smallint;
  home smallint;
begin
  if likely is not null then
    if (pgsched_internal.live_execution(likely, partition_with.id)).id is not null then
      return likely;
    elsif (pgsched_internal.in_history(partition_with.id)).id is not null then
      return null;
    end if;
  end if;
  for first in select q.first_partition from pgsched.queues q order by q.first_partition loop
    begin
      select p into home from pgsched_internal.partitions_of(first) p
       where (pgsched_internal.live_execution(p, partition_with.id)).id is not null limit 1;
      raise sqlstate 'PSUND';
    exception when sqlstate 'PSUND' then null;
    end;
    exit when home is not null;
  end loop;
  return home;
end $$;
comment on function pgsched_internal.partition_with(uuid)
  is 'The partition in which an execution lives; null if it has ended.';

-- If a row is claimed between reading and locking it, PostgreSQL keeps the lock although the condition no longer holds.
-- So a row that another transaction has locked is first skipped, and then waited for in a block that is rolled back.
create or replace function pgsched_internal.lock_waiting(partition smallint, id uuid) returns pgsched.executions
  language plpgsql volatile as $$
declare
  home constant text := pgsched_internal.in_partition(lock_waiting.partition);
  found_row pgsched.executions;
  waits boolean;
begin
  loop
    execute format('select e.* from %s e.id = $1 and e.lease_token is null for update skip locked', home)
       into found_row using lock_waiting.id;
    exit when found_row.id is not null;
    execute format('select e.lease_token is null from %s e.id = $1', home) into waits using lock_waiting.id;
    exit when waits is distinct from true;
    begin
      execute format('select from %s e.id = $1 for update', home) using lock_waiting.id;
      raise sqlstate 'PSUND';
    exception when sqlstate 'PSUND' then null;
    end;
  end loop;
  return found_row;
end $$;
comment on function pgsched_internal.lock_waiting(smallint, uuid)
  is 'Locks an execution while it waits, after any other transaction that has it locked; null, with nothing locked, if
it is running or has ended.';

-- A claim looks less than a second ahead. This uses the clock, not the start of the caller's transaction. An execution
-- that begins before its worker can be notified counts as running: otherwise it could run both before and after the
-- change.
create or replace function pgsched_internal.is_ahead(there pgsched.executions) returns boolean language sql volatile as $$
  select coalesce(there.lease_owner is not null and there.fire_at - (pgsched.now() + (clock_timestamp() - now())) between interval '50 ms' and interval '1 second', false)
$$;
comment on function pgsched_internal.is_ahead(pgsched.executions)
  is 'True if a worker has claimed an execution so far ahead of its instant that the worker can be notified before it
begins.';

create or replace function pgsched_internal.take_back(there pgsched.executions) returns pgsched.executions
  language plpgsql volatile set plan_cache_mode = force_custom_plan as $$
declare
  taken pgsched.executions;
begin
  perform from pgsched.executions e
    where e.partition = there.partition and e.id = there.id and e.lease_token = there.lease_token for update skip locked;
  if not found then
    return there;
  end if;
  update pgsched.executions e
     set lease_owner = null, lease_token = null, lease_expires_at = null, attempt = e.attempt - 1, plan = -abs(e.plan)
   where e.partition = there.partition and e.id = there.id returning e.* into taken;
  perform pgsched_internal.notify_workers('stop ' || there.id);
  perform pgsched_internal.notify_wake(taken.partition, taken.fire_at);
  return taken;
end $$;
comment on function pgsched_internal.take_back(pgsched.executions)
  is 'Takes an execution that has not begun back from its worker, which is notified. It then waits and is locked.
Returned unchanged if another transaction has it locked.';
