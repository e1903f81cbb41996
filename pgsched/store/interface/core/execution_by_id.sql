-- Finds an execution by its id alone. All sessions share one lock table, and a lock on each searched partition would
-- last until the caller's transaction ends. So a search of several partitions runs in blocks that are rolled back,
-- which releases the locks. The ids that pgsched makes say which partition to search first.

-- After a session has run a statement five times, PostgreSQL considers caching a plan for all partitions, and making
-- that plan locks them all. So every statement that a client's call runs on executions or history is planned for its
-- values each time (plan_cache_mode). PostgreSQL would choose the plan for the values anyway.

-- Like pgsched_internal.new_id(), but the first of the 62 random bits is 1, and the next fifteen hold the partition.
create or replace function pgsched_internal.new_id_in(partition smallint) returns uuid language sql volatile parallel safe
  return ('0' || overlay(to_hex((date_part('epoch', clock_timestamp()) * 4096000)::bigint) placing '7' from 12 for 0)
    || to_hex(-6917529027641081856 | (partition::bigint << 46) | (random() * 70368744177663)::bigint))::uuid;
comment on function pgsched_internal.new_id_in(smallint)
  is 'A new id, like those of pgsched_internal.new_id(), that also carries the partition of its row.';

create or replace function pgsched_internal.partition_in(id uuid) returns smallint language sql immutable parallel safe as $$
  select case when substr(id::text, 15, 1) = '7' and substr(id::text, 20, 1) in ('a', 'b')
              then (('x' || translate(substr(id::text, 20), '-', ''))::bit(64)::bigint >> 46 & 32767)::smallint end
$$;
comment on function pgsched_internal.partition_in(uuid)
  is 'The partition that an id carries, or null. Only a hint: an id from elsewhere may seem to carry a partition.';

-- History is searched one week at a time. The search goes forward from the instant to now, and then back from the
-- instant, because that order most likely finds the row soon. For the instant infinity, the search goes back from now.
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
  is 'Splits history into spans of at most a week: forward from an instant, then back from it to the oldest day. A final
span covers everything before that day.';

-- The condition, including its order by, is always a literal in these files.
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
  is 'The first row of history that meets a condition, or null. In the condition, $3 to $6 are the id, client, key and
instant. If onward is true, only weeks after since are searched. Holds no lock afterwards.';

create or replace function pgsched_internal.in_history(id uuid) returns pgsched.history language plpgsql volatile as $$
begin
  return pgsched_internal.first_in_history('h.id = $3 order by h.status = ''failed'' desc, h.finished_at desc',
    case when substr(in_history.id::text, 15, 1) = '7' then to_timestamp(
      ('x' || translate(left(in_history.id::text, 13), '-', ''))::bit(48)::bigint / 1000.0) - interval '1 minute' end, id => in_history.id);
end $$;
comment on function pgsched_internal.in_history(uuid)
  is 'The row of an execution in history, or null. Holds no lock afterwards.';

create or replace function pgsched_internal.last_under(client text, key text) returns uuid language plpgsql volatile as $$
begin
  return (pgsched_internal.first_in_history('h.client_id = $4 and h.key = $5 order by h.finished_at desc', 'infinity',
    client => last_under.client, key => last_under.key)).id;
end $$;
comment on function pgsched_internal.last_under(text, text)
  is 'The id of the execution that most recently ended under a key, however long ago; null if history has none.';

-- Names the partition's own table, so that an id is always looked up in the index on ids, even if the statistics claim
-- that there are few rows. If that table is missing or belongs to another role, names the parent table and adds a
-- condition on the partition.
create or replace function pgsched_internal.in_partition(partition smallint, change text default '') returns text language sql stable as $$
  select case when has_table_privilege(to_regclass('pgsched_internal.executions_' || partition), 'UPDATE')
              then format('pgsched_internal.executions_%s e %s where', partition, change)
              else format('pgsched.executions e %s where e.partition = %s and', change, partition) end
$$;
comment on function pgsched_internal.in_partition(smallint, text)
  is 'The text of a statement on the rows of a partition, from the table''s name to "where"; for an update, including
its set clause. The caller appends the conditions.';

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
  is 'The waiting or running execution with this id in a partition, or null. Locks no row.';

-- If the id carries a partition, that partition and history are searched before all other partitions. If the row moves
-- to history in the meantime, the callers find the row, because they search history next.
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
  is 'The partition in which an execution lives; null if it is not live.';

-- If a row is claimed between being read and being locked, PostgreSQL keeps the lock although the row no longer meets
-- the condition. So this function first skips a row that another transaction has locked. The function then waits for
-- the lock in a block that is rolled back, and tries again.
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
  is 'Locks and returns a waiting execution, after waiting for any transaction that has locked it. Returns null, and
locks nothing, if the execution is running or has ended.';

-- Executions are claimed less than a second ahead, so the instant is compared with the clock, not with the start of the
-- caller's transaction. An execution that begins before its worker can be notified counts as running. If it did not, it
-- could run both before and after the change.
create or replace function pgsched_internal.is_ahead(there pgsched.executions) returns boolean language sql volatile as $$
  select coalesce(there.lease_owner is not null and there.fire_at - (pgsched.now() + (clock_timestamp() - now())) between interval '50 ms' and interval '1 second', false)
$$;
comment on function pgsched_internal.is_ahead(pgsched.executions)
  is 'True if a worker has claimed an execution so far ahead of its instant that the worker can still be notified before
the execution begins.';

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
  is 'Takes back an execution that its worker has not begun, and notifies the worker. Returns the execution, which is
now waiting and locked. Returns it unchanged if another transaction has locked it.';
