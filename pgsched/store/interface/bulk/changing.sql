-- Carries out bulk operations: workers advance each by one chunk at a time, at its pace.

-- The execution may have been edited since it was read, so the filter is applied again once the row is locked. A
-- running execution is locked only if it is to be cancelled.
create or replace function pgsched_internal.change_execution(asked pgsched.bulk_operations, id uuid, partition smallint) returns text
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  there pgsched.executions := pgsched_internal.live_execution(change_execution.partition, change_execution.id);
  free constant text := case asked.action when 'reschedule' then 'and e.lease_token is null and e.job_id is null' else '' end;
begin
  if there.id is null or not pgsched_internal.is_named(there, asked.filter, asked.clients) or asked.action = 'reschedule' and there.job_id is not null then
    return 'skipped';
  elsif asked.action = 'reschedule' and pgsched_internal.is_ahead(there) then
    there := pgsched_internal.take_back(there);
  end if;
  if asked.action = 'reschedule' and there.lease_token is not null then
    return 'skipped';
  end if;
  execute format('select e.* from %s e.id = $1 %s for update skip locked', pgsched_internal.in_partition(change_execution.partition), free)
     into there using change_execution.id;
  if there.id is null then
    return 'locked';
  elsif not pgsched_internal.is_named(there, asked.filter, asked.clients) then
    return 'skipped';
  elsif asked.action = 'cancel' then
    perform pgsched_internal.cancel_locked(there, asked.note, asked.actor);
  else
    perform pgsched_internal.move_to(there, coalesce(asked.fire_at,
      case when isfinite(there.fire_at) then there.fire_at else coalesce(there.scheduled_for, pgsched.now()) end + asked.shift));
  end if;
  return 'done';
end $$;
comment on function pgsched_internal.change_execution(pgsched.bulk_operations, uuid, smallint)
  is 'Cancels or reschedules one execution of a bulk operation. Returns done, skipped if the filter no longer names the
execution, or locked if another transaction has locked it.';

create or replace function pgsched_internal.change_letter(asked pgsched.bulk_operations, id uuid, finished_at timestamptz) returns text
  language plpgsql volatile as $$
declare
  letter pgsched.history;
begin
  select h.* into letter from pgsched.history h
   where h.id = change_letter.id and h.finished_at = change_letter.finished_at and h.status = 'failed' limit 1 for update skip locked;
  if not found then
    select k.* into letter from pgsched_internal.kept_dead_letters k where k.id = change_letter.id for update skip locked;
  end if;
  if not found and (exists (select from pgsched.history h where h.id = change_letter.id and h.finished_at = change_letter.finished_at
                               and h.status = 'failed' and h.dealt_with_at is null)
                    or exists (select from pgsched_internal.kept_dead_letters k where k.id = change_letter.id and k.dealt_with_at is null)) then
    return 'locked';
  elsif letter.id is null or letter.dealt_with_at is not null then
    return 'skipped';
  elsif asked.action = 'discard' then
    perform pgsched_internal.mark_dead_letter(letter, null, asked.actor);
  elsif pgsched_internal.revive(letter, asked.paced_until, asked.target, null, null, asked.actor) is null then
    return 'skipped';
  end if;
  return 'done';
end $$;
comment on function pgsched_internal.change_letter(pgsched.bulk_operations, uuid, timestamptz)
  is 'Replays or discards one dead letter of a bulk operation. Returns done, skipped if it has already been dealt with,
or locked if another transaction has locked it.';

-- Never waits for a lock: if a lock, such as that of a dead letter's key, is not free, the row is tried again later. A
-- row that cannot be changed, such as a dead letter whose queue was dropped, counts as failed and stays unchanged.
create or replace function pgsched_internal.change_or_come_back(
  asked pgsched.bulk_operations, id uuid, finished_at timestamptz, partition smallint, again boolean
) returns text language plpgsql volatile set lock_timeout = '5ms' as $$
declare
  outcome text;
begin
  begin
    outcome := case when asked.action in ('replay', 'discard')
                    then pgsched_internal.change_letter(asked, change_or_come_back.id, change_or_come_back.finished_at)
                    else pgsched_internal.change_execution(asked, change_or_come_back.id, change_or_come_back.partition) end;
  exception when others then
    if sqlstate = 'PS014' then
      outcome := 'full';
    elsif not pgsched_internal.is_of_a_row(sqlstate) then
      raise;
    elsif pgsched_internal.is_a_lock(sqlstate) then
      outcome := 'locked';
    else
      raise warning 'bulk operation % cannot % %: %', asked.id, asked.action, change_or_come_back.id, sqlerrm;
      outcome := 'failed';
    end if;
  end;
  if outcome = 'locked' then
    insert into pgsched_internal.rows_to_come_back_to (operation_id, id, finished_at, partition)
    values (asked.id, change_or_come_back.id, change_or_come_back.finished_at, change_or_come_back.partition)
        on conflict on constraint rows_to_come_back_to_pkey do update set tried_at = clock_timestamp();
  elsif again and outcome <> 'full' then
    delete from pgsched_internal.rows_to_come_back_to r where r.operation_id = asked.id and r.id = change_or_come_back.id;
  end if;
  return outcome;
end $$;
comment on function pgsched_internal.change_or_come_back(pgsched.bulk_operations, uuid, timestamptz, smallint, boolean)
  is 'Changes one row of a bulk operation, or records a locked row so that it is tried again later. Returns done,
skipped, failed, locked, or full if the row''s queue is full. again is true if the row was recorded before.';

-- The query first returns a few of the rows that were locked before, and then the next rows. The next executions are
-- read from one partition only. Rows are read while they are processed. If a chunk stops early, the next chunk reads
-- the remaining rows.
create or replace function pgsched_internal.next_of_many(asked pgsched.bulk_operations) returns text language sql stable as $$
  select '(select r.id, r.finished_at, r.partition, true as named, true as again from pgsched_internal.rows_to_come_back_to r'
         ' where r.operation_id = $1 order by r.tried_at limit 10) union all '
      || case when asked.action in ('replay', 'discard') then
           '(select f.id, f.finished_at, null, f.named, false from pgsched_internal.look_through_dead_letters($2, $3, $4, $5, 1000) f)'
         else format('(select e.id, null, e.partition, e.created_at < $5 and pgsched_internal.is_named(e::pgsched.executions, $2, $3), false'
                     ' from %s e.id > $4 order by e.id limit 1000)', pgsched_internal.in_partition(asked.partition)) end
$$;
comment on function pgsched_internal.next_of_many(pgsched.bulk_operations)
  is 'The text of the query for the rows that a bulk operation processes next, each with a flag for whether the filter
names the row.';

create or replace function pgsched_internal.change_chunk(
  asked inout pgsched.bulk_operations, room integer, most integer, out outcomes text[], out looked integer
) language plpgsql volatile as $$
declare
  next record;
  outcome text;
begin
  outcomes := '{}';
  looked := 0;
  for next in execute pgsched_internal.next_of_many(asked)
    using asked.id, asked.filter, asked.clients, coalesce(asked.reached, '00000000-0000-0000-0000-000000000000'), asked.created_at
  loop
    if next.named then
      outcome := pgsched_internal.change_or_come_back(asked, next.id, next.finished_at, next.partition, next.again);
      outcomes := outcomes || outcome;
      exit when outcome = 'full';  -- the next chunk continues here once there is room
      if outcome = 'done' then
        asked.paced_until := asked.paced_until + make_interval(secs => 1 / asked.rate);
        room := room - 1;
      end if;
    end if;
    if not next.again then
      looked := looked + 1;
      asked.reached := next.id;
    end if;
    exit when room <= 0 or cardinality(outcomes) >= most;
  end loop;
end $$;
comment on function pgsched_internal.change_chunk(pgsched.bulk_operations, integer, integer)
  is 'Changes the next rows of a bulk operation. Returns the operation with its new position, the outcome of each row,
and the number of rows read.';

-- Runs at most two seconds ahead of its pace, so that little happens after the operation is stopped. The position after
-- the last row read is recorded in the same transaction, so a crash neither loses nor repeats anything.
create or replace function pgsched_internal.advance_bulk(
  id uuid, most integer, out done integer, out more boolean, out finished boolean
) language plpgsql volatile set enable_sort = off set enable_hashjoin = off as $$
declare
  asked pgsched.bulk_operations;
  chunk record;
  room integer;
  is_full boolean;
  is_cut boolean;
  following smallint;
begin
  done := 0;
  more := false;
  finished := false;
  select b.* into asked from pgsched.bulk_operations b where b.id = advance_bulk.id and b.state = 'active' for update skip locked;
  asked.paced_until := greatest(asked.paced_until, pgsched.now());
  room := floor(asked.rate * (2 - extract(epoch from asked.paced_until - pgsched.now())));
  if asked.paced_until <= pgsched.now() + interval '1 second' then
    room := greatest(room, 1);
  end if;
  if asked.id is null or room < 1 then
    return;
  end if;
  if asked.action in ('cancel', 'reschedule') and asked.partition is null then
    asked.partition := coalesce(pgsched_internal.next_partition(asked.filter, null), -1);  -- no such queue
  end if;
  chunk := pgsched_internal.change_chunk(asked, room, most);
  asked := chunk.asked;
  done := cardinality(array_positions(chunk.outcomes, 'done'));
  is_full := 'full' = any (chunk.outcomes) or done >= room;
  is_cut := chunk.looked >= 1000 or cardinality(chunk.outcomes) >= most;
  if asked.partition is not null and not is_full and not is_cut and asked.partition >= 0 then
    following := pgsched_internal.next_partition(asked.filter, asked.partition);
    asked.partition := coalesce(following, asked.partition);
    asked.reached := case when following is null then asked.reached end;
  end if;
  more := not is_full and (is_cut or following is not null);
  finished := not is_full and not more and not exists (select from pgsched_internal.rows_to_come_back_to r where r.operation_id = asked.id);
  update pgsched.bulk_operations b
     set partition = asked.partition, reached = asked.reached, paced_until = asked.paced_until, done = b.done + advance_bulk.done,
         skipped = b.skipped + cardinality(array_positions(chunk.outcomes, 'skipped')),
         failed = b.failed + cardinality(array_positions(chunk.outcomes, 'failed')), updated_at = pgsched.now(),
         reason = case when 'full' = any (chunk.outcomes) then 'waits: the queue of the next execution is full'
                       when 'locked' = any (chunk.outcomes) then 'waits: another transaction has locked some of its rows' end,
         state = case when finished then 'finished' else b.state end
   where b.id = asked.id;
end $$;
comment on function pgsched_internal.advance_bulk(uuid, integer)
  is 'Changes the next rows of a bulk operation, up to a limit and as its pace allows. Returns how many it changed,
whether the next chunk can follow at once, and whether this chunk was the last.';
