-- Where an execution is, when only its id is known. A lock on each partition that is looked through would stay until the
-- caller's transaction ends, and the table of locks is everybody's: so what is looked through in vain is looked through in
-- a block that is undone, which gives its locks back, and an id that we make says which partition to look into first.

-- A statement that a session has run five times is also planned for all partitions at once, to see whether that plan could be
-- kept, and to plan is to lock. So whatever a client's verb runs on executions or history is planned for its values each
-- time (plan_cache_mode), which is what it would come to in any case.

-- As pgsched_internal.new_id(), but of its 62 random bits the first is set and the next fifteen are the partition.
create or replace function pgsched_internal.new_id_in(partition smallint) returns uuid language sql volatile parallel safe
  return ('0' || overlay(to_hex((date_part('epoch', clock_timestamp()) * 4096000)::bigint) placing '7' from 12 for 0)
    || to_hex(-6917529027641081856 | (partition::bigint << 46) | (random() * 70368744177663)::bigint))::uuid;
comment on function pgsched_internal.new_id_in(smallint) is 'A new identity, as pgsched_internal.new_id() makes them, that carries the partition of its row.';

create or replace function pgsched_internal.partition_in(id uuid) returns smallint language sql immutable parallel safe as $$
  select case when substr(id::text, 15, 1) = '7' and substr(id::text, 20, 1) in ('a', 'b')
              then (('x' || translate(substr(id::text, 20), '-', ''))::bit(64)::bigint >> 46 & 32767)::smallint end
$$;
comment on function pgsched_internal.partition_in(uuid)
  is 'The partition that an id carries; null where it carries none. A hint: an id made elsewhere may look as if it did.';

-- History is looked through a week at a time, in the order in which what is sought is likely to be found: forward from an
-- instant, then back from there; or back from now.
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
  is 'All of history in parts of a week at most: from an instant on, then back from there. What is older than its days comes last.';

-- The condition, and the order after it, is always a text of the interface's own.
create or replace function pgsched_internal.first_in_history(
  condition text, since timestamptz, id uuid default null, client text default null, key text default null, instant timestamptz default null
) returns pgsched.history language plpgsql volatile as $$
declare
  found_row pgsched.history;
  week record;
begin
  for week in select w.low, w.high from pgsched_internal.weeks_of_history(since) w loop
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
comment on function pgsched_internal.first_in_history(text, timestamptz, uuid, text, text, timestamptz)
  is 'The first row of history that is as a condition says, $3 to $6 in it being id, client, key and instant; null where there is none. Holds no lock afterwards.';

create or replace function pgsched_internal.in_history(id uuid) returns pgsched.history language plpgsql volatile as $$
begin
  return pgsched_internal.first_in_history('h.id = $3 order by h.status = ''failed'' desc, h.finished_at desc',
    case when substr(in_history.id::text, 15, 1) = '7' then to_timestamp(
      ('x' || translate(left(in_history.id::text, 13), '-', ''))::bit(48)::bigint / 1000.0) - interval '1 minute' end, id => in_history.id);
end $$;
comment on function pgsched_internal.in_history(uuid)
  is 'The row of an execution in history; null where it has none. Holds no lock afterwards.';

create or replace function pgsched_internal.last_under(client text, key text) returns uuid language plpgsql volatile as $$
begin
  return (pgsched_internal.first_in_history('h.client_id = $4 and h.key = $5 order by h.finished_at desc', 'infinity',
    client => last_under.client, key => last_under.key)).id;
end $$;
comment on function pgsched_internal.last_under(text, text)
  is 'The execution that was the last to end under a key, however long ago; null where history has none.';

-- Its own table is named, so that an id has no other index than its own to take, however few rows the statistics tell of; where
-- that is somebody else's, or is none, the whole with the partition.
create or replace function pgsched_internal.in_partition(partition smallint, change text default '') returns text language sql stable as $$
  select case when has_table_privilege(to_regclass('pgsched_internal.executions_' || partition), 'UPDATE')
              then format('pgsched_internal.executions_%s e %s where', partition, change)
              else format('pgsched.executions e %s where e.partition = %s and', change, partition) end
$$;
comment on function pgsched_internal.in_partition(smallint, text)
  is 'The part of a query that stands for the rows of a partition, up to its further conditions: … e where; with what an update sets.';

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
  is 'An execution that waits or runs, in the partition where it lives; null where it does not live there. Locks no row.';

-- What has ended is looked for before all partitions are; a row on its way from there into history meanwhile is found by
-- whoever looks into history after this.
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
comment on function pgsched_internal.partition_with(uuid) is 'The partition in which an execution lives; null once it has ended.';

-- Of a row that is claimed between the look at it and the lock PostgreSQL keeps the lock, though the condition holds no more:
-- so what somebody has at this moment is passed over first, and then waited for in a block that is undone.
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
  is 'Locks an execution while it waits, after whoever has it at this moment; null, and nothing locked, where it runs or has ended.';

-- A claim looks less than a second ahead. Judged by the clock, and not by when the caller's transaction began. What begins before its worker
-- can have been told counts as running: else it would be called as it was and as it is then.
create or replace function pgsched_internal.is_ahead(there pgsched.executions) returns boolean language sql volatile as $$
  select coalesce(there.lease_owner is not null and there.fire_at - (pgsched.now() + (clock_timestamp() - now())) between interval '50 ms' and interval '1 second', false)
$$;
comment on function pgsched_internal.is_ahead(pgsched.executions)
  is 'Whether a worker has claimed an execution whose instant is so far ahead that the worker can be told before it begins.';

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
  is 'Takes an execution that has not begun back from its worker, which is told: it waits and is locked then. As it was where somebody
has it locked.';
