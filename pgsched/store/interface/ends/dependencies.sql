-- Executions that wait for others. A waiting execution is held; its rows in pgsched.dependencies record which
-- executions it waits for. The executions that it waits for are marked as awaited, and keep the mark in history, where
-- dependents.sql finds it. Locks are always taken in the same order. The waiting execution comes first. The executions
-- that it waits for, except running ones, follow by partition and id, as in settling. The dependencies come last. A
-- partition's ordering is never locked (see gates/ordering.sql), because workers lock it after their rows.

create or replace function pgsched_internal.check_after(after text[], after_outcome text, on_conflict text, recurrence text) returns boolean
  language plpgsql immutable parallel safe as $$
begin
  if after_outcome is null or after_outcome not in ('success', 'any') then
    return pgsched_internal.refuse('PS000', format('after_outcome cannot be %L', after_outcome), 'write success or any');
  elsif after is null then
    return pgsched_internal.refuse('PS000', 'after_outcome needs the argument "after"', 'give after => array[''<id or key>''], or leave after_outcome out');
  elsif recurrence is not null and cardinality(after) > 0 then
    return pgsched_internal.refuse('PS002', 'the argument "after" is only for a single execution, not for a job',
      'leave "cron" and "every" out, or let the earlier execution schedule the job');
  elsif cardinality(after) > 100 then
    return pgsched_internal.refuse('PS000', format('"after" names %s executions, but can name at most 100', cardinality(after)),
      'schedule another execution that waits for some of them, and wait for that execution');
  elsif array_position(after, null) is not null then
    return pgsched_internal.refuse('PS000', 'the list "after" contains a null', 'give the id or the key of each execution to wait for');
  elsif on_conflict = 'debounce' and cardinality(after) > 0 then
    return pgsched_internal.refuse('PS000', 'debounce cannot be combined with "after", which decides when the execution fires', 'write replace, keep or reject');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_after(text[], text, text, text)
  is 'True if the arguments that make an execution wait for others are valid; raises PS000 or PS002 with a hint
otherwise.';

-- Looks for a live execution first and an ended one second, so that an execution that is just ending is not missed.
create or replace function pgsched_internal.find_execution(client text, name text) returns uuid language plpgsql volatile as $$
declare
  named constant uuid := case when name ~ '^[0-9A-Fa-f]{8}(-?[0-9A-Fa-f]{4}){3}-?[0-9A-Fa-f]{12}$' then name::uuid end;
  held pgsched_internal.keys;
  found_id uuid;
begin
  if named is not null then
    if coalesce((pgsched_internal.live_execution(pgsched_internal.partition_with(named), named)).client_id,
                (pgsched_internal.in_history(named)).client_id) = client then
      return named;
    end if;
  end if;
  select k.* into held from pgsched_internal.keys k where k.client_id = client and k.key = name and k.partition is not null;
  if pgsched_internal.is_live(held) then
    return held.id;
  end if;
  found_id := pgsched_internal.last_under(client, name);
  if found_id is null then
    perform from pgsched.jobs j where j.client_id = client and (j.id = named or j.key = name and j.state <> 'cancelled');
    if found then
      perform pgsched_internal.refuse('PS011', format('%L is a job, which never ends', left(name, 100)),
        'give the id of one of its executions, from pgsched.status');
    end if;
    perform pgsched_internal.refuse('PS010', format('client %L has no execution %L to wait for', client, left(name, 100)),
      'give the id that scheduling returned, or the key of an execution that is waiting, running or in history');
  end if;
  return found_id;
end $$;
comment on function pgsched_internal.find_execution(text, text)
  is 'The id of a client''s execution, given its id or key: the live execution or, if there is none, the last that
ended. Raises PS010 if there is none, and PS011 for a job.';

create or replace function pgsched_internal.check_no_circle(execution_id uuid, after_id uuid) returns boolean
  language plpgsql volatile as $$
begin
  perform from (with recursive before(id) as (
      select check_no_circle.after_id
      union select d.after_id from pgsched.dependencies d join before b on d.execution_id = b.id)
    select from before where id = check_no_circle.execution_id) circle;
  return not found or pgsched_internal.refuse('PS011', format('executions %s and %s would wait for each other', execution_id, after_id),
    'remove one of the two from the list "after" of the other');
end $$;
comment on function pgsched_internal.check_no_circle(uuid, uuid)
  is 'True if a new dependency would not make an execution wait for itself, directly or through others; raises PS011
otherwise.';

-- A waiting execution is locked and marked, so its end waits for this transaction and finds the mark. The update is
-- HOT, because no index of live rows contains awaited. The settlement of a running execution must not wait, so a
-- running execution is locked only if history would not record its end. In all other cases, a note is left, and workers
-- later mark the execution, or its row in history.
create or replace function pgsched_internal.mark_awaited(execution_id uuid, after_id uuid, client text) returns boolean
  language plpgsql volatile as $$
declare
  home constant smallint := pgsched_internal.partition_with(mark_awaited.after_id);
  before pgsched.executions;
  is_kept boolean;
begin
  before := pgsched_internal.live_execution(home, mark_awaited.after_id);
  if before.client_id is distinct from mark_awaited.client then
    return false;
  end if;
  is_kept := before.key is not null or not exists (select from pgsched.clients c where c.client_id = before.client_id and c.keep <> 'all');
  if is_kept and (pgsched_internal.lock_waiting(home, before.id)).id is null then
    if (pgsched_internal.live_execution(home, before.id)).id is null then
      return false;
    end if;
    insert into pgsched_internal.ends_to_mark (execution_id, after_id) values (mark_awaited.execution_id, before.id) on conflict do nothing;
    return true;
  end if;
  update pgsched.executions e set awaited = true where e.partition = home and e.id = before.id;
  return found;
end $$;
comment on function pgsched_internal.mark_awaited(uuid, uuid, text)
  is 'Makes sure that a client''s execution will report its end to its dependents; false if the execution has already
ended.';

-- Marks the live row if there is one, and otherwise the row in history. If another transaction has locked the live row,
-- the execution is left for a later pass.
create or replace function pgsched_internal.mark_ends(most integer) returns void language plpgsql volatile as $$
declare
  noted pgsched_internal.ends_to_mark;
  ended pgsched.history;
  home smallint;
begin
  for noted in select n.* from pgsched_internal.ends_to_mark n order by n.noted_at limit most for update skip locked loop
    home := pgsched_internal.partition_with(noted.after_id);
    perform from pgsched.executions e where e.partition = home and e.id = noted.after_id for no key update skip locked;
    if found then
      update pgsched.executions e set awaited = true where e.partition = home and e.id = noted.after_id and e.awaited is not true;
    elsif (pgsched_internal.live_execution(home, noted.after_id)).id is not null then
      update pgsched_internal.ends_to_mark n set noted_at = clock_timestamp()
       where n.execution_id = noted.execution_id and n.after_id = noted.after_id;
      continue;
    else
      ended := pgsched_internal.in_history(noted.after_id);
      update pgsched.history h set awaited = true where h.id = ended.id and h.finished_at = ended.finished_at and h.awaited is not true;
    end if;
    delete from pgsched_internal.ends_to_mark n where n.execution_id = noted.execution_id and n.after_id = noted.after_id;
  end loop;
end $$;
comment on function pgsched_internal.mark_ends(integer)
  is 'Marks executions as awaited, up to a limit, if they were running when their dependents were scheduled. If an
execution has ended, marks its row in history.';

-- A new dependency can close a circle only if some execution already waits for the dependent one, so a circle is
-- searched for only in that case. Only one transaction per client searches at a time, because two concurrent
-- transactions would not see each other's dependencies.
create or replace function pgsched_internal.wait_for(
  execution_id uuid, after_id uuid, outcome text default 'success', delay interval default null
) returns boolean language plpgsql volatile set plan_cache_mode = force_custom_plan as $$
declare
  waiting pgsched.executions;
begin
  waiting := pgsched_internal.lock_execution(wait_for.execution_id);
  if waiting.id is null or waiting.lease_token is not null then
    perform pgsched_internal.refuse('PS010', format('there is no waiting execution %s', execution_id), 'schedule it first');
  end if;
  if not pgsched_internal.mark_awaited(wait_for.execution_id, wait_for.after_id, waiting.client_id) then
    return false;
  elsif waiting.awaited or execution_id = after_id or exists (select from pgsched_internal.ends_to_mark n where n.after_id = waiting.id) then
    insert into pgsched_internal.circles (client_id) values (waiting.client_id) on conflict do nothing;
    perform from pgsched_internal.circles c where c.client_id = waiting.client_id for update;
    perform pgsched_internal.check_no_circle(execution_id, after_id);
  end if;
  if waiting.at_head then  -- gives up its turn, because it may now wait for an execution that is behind it
    update pgsched.executions e set at_head = null where e.partition = waiting.partition and e.id = waiting.id;
  end if;
  insert into pgsched.dependencies (execution_id, after_id, outcome, delay)
  values (wait_for.execution_id, wait_for.after_id, coalesce(wait_for.outcome, 'success'), wait_for.delay)
  on conflict do nothing;
  perform pgsched_internal.notify_unless_silent('release');
  if waiting.ordering_key is not null then
    perform pgsched_internal.notify_unless_silent('turns');
  end if;
  return true;
end $$;
comment on function pgsched_internal.wait_for(uuid, uuid, text, interval)
  is 'Makes a held execution (fire_at infinity) wait until another execution of its client has succeeded (or, with the
outcome any, has ended) and the delay has passed. Returns false, and changes nothing, if the other execution has already
ended.';

create or replace function pgsched_internal.forget_dependencies(execution_id uuid) returns void
  language sql volatile as $$
  delete from pgsched.dependencies d where d.execution_id = forget_dependencies.execution_id
$$;
comment on function pgsched_internal.forget_dependencies(uuid)
  is 'Removes the dependencies of an execution that is no longer held.';

create or replace function pgsched_internal.check_ended(id uuid, outcome text) returns boolean language plpgsql volatile as $$
declare
  ended constant pgsched.execution_status := (pgsched_internal.in_history(check_ended.id)).status;
begin
  return outcome = 'any' or coalesce(ended = 'succeeded', false)
    or pgsched_internal.refuse('PS011', format('cannot wait for the success of execution %s: it %s', check_ended.id,
           coalesce('ended with status ' || ended::text, 'has ended, and its client keeps no history')),
         'leave that execution out of the list "after", or give after_outcome => ''any''');
end $$;
comment on function pgsched_internal.check_ended(uuid, text)
  is 'True if the outcome of an ended execution lets its dependents fire; raises PS011 otherwise.';

create or replace function pgsched_internal.hold_for(home smallint, execution_id uuid, waits jsonb, instant timestamptz) returns boolean
  language plpgsql volatile as $$
declare
  before record;
  is_held boolean := false;
begin
  update pgsched.executions e set fire_at = 'infinity' where e.partition = home and e.id = hold_for.execution_id;
  for before in
    select d.id::uuid, d.outcome from jsonb_each_text(waits) d(id, outcome) order by pgsched_internal.partition_with(d.id::uuid), d.id
  loop
    if pgsched_internal.wait_for(hold_for.execution_id, before.id, before.outcome) then
      is_held := true;
    else
      perform pgsched_internal.check_ended(before.id, before.outcome);
    end if;
  end loop;
  if not is_held then
    update pgsched.executions e set fire_at = instant where e.partition = home and e.id = hold_for.execution_id;
    perform pgsched_internal.notify_wake(home, instant);
  end if;
  return is_held;
end $$;
comment on function pgsched_internal.hold_for(smallint, uuid, jsonb, timestamptz)
  is 'Makes an execution of the caller wait until each of the others has the required outcome. If all of them already
have that outcome, the execution fires at the given instant. Returns true if the execution waits.';

create or replace function pgsched_internal.schedule_after(
  target text, payload jsonb, fire_at timestamptz, client text, key text, ordering_key text, queue text, options jsonb,
  on_conflict text, after text[], after_outcome text, labels jsonb
) returns pgsched_internal.placement language plpgsql volatile set plan_cache_mode = force_custom_plan as $$
declare
  told constant text := coalesce(nullif(current_setting('pgsched.notify', true), ''), 'on');
  instant constant timestamptz := coalesce(schedule_after.fire_at, pgsched.now());
  placed pgsched_internal.placement;
  waits jsonb;
begin
  select jsonb_object_agg(pgsched_internal.find_execution(client, name), after_outcome) into waits from unnest(after) as name;
  perform set_config('pgsched.notify', 'off', true);  -- the execution is held before anyone can claim it
  if key is null then
    placed := pgsched_internal.schedule_plain(target, payload, instant, client, ordering_key, queue, options, labels);
  else
    placed := pgsched_internal.schedule_keyed(target, payload, instant, client, key, ordering_key, queue, options, on_conflict, labels);
  end if;
  perform set_config('pgsched.notify', told, true);
  if placed.outcome not in ('created', 'replaced') then
    return placed;  -- the holder of the key is running, has ended or is kept
  end if;
  if pgsched_internal.hold_for(placed.partition, placed.id, waits, instant) then
    placed.fire_at := null;
    update pgsched.executions e set scheduled_for = schedule_after.fire_at
     where e.partition = placed.partition and e.id = placed.id and schedule_after.fire_at is not null;
  end if;
  return placed;
end $$;
comment on function pgsched_internal.schedule_after(text, jsonb, timestamptz, text, text, text, text, jsonb, text, text[], text, jsonb)
  is 'Schedules one execution that waits for others; called by pgsched.schedule_outcome.';
