-- Scheduling under a key that may already be in use.

create or replace function pgsched_internal.left_as_it_is(held pgsched_internal.keys, there pgsched.executions, on_conflict text)
  returns pgsched_internal.placement language plpgsql volatile as $$
begin
  if on_conflict = 'reject' then
    perform pgsched_internal.refuse_taken(held, 'give another key, or leave on_conflict out to replace the waiting execution');
  end if;
  return row(held.id, case when there.id is null then 'ended' else 'existing' end,
    case when there.lease_token is null and isfinite(there.fire_at) then there.fire_at end, held.partition)::pgsched_internal.placement;
end $$;
comment on function pgsched_internal.left_as_it_is(pgsched_internal.keys, pgsched.executions, text)
  is 'The result of scheduling when the holder of the key stays unchanged. Raises PS011 if on_conflict is reject.';

create or replace function pgsched_internal.replace_waiting(
  there pgsched.executions, target text, payload jsonb, fire_at timestamptz, options jsonb, labels jsonb
) returns void language plpgsql volatile set plan_cache_mode = force_custom_plan as $$
begin
  perform pgsched_internal.check_channel(there.client_id, replace_waiting.target)
    where replace_waiting.target like 'notify:%'
       or exists (select from pgsched.clients c where c.client_id = there.client_id and c.channels is not null);
  update pgsched.executions e
     set fire_at = replace_waiting.fire_at, scheduled_for = null, attempt = 0, gate = null, waits = null, reason = null, at_head = null,
         target = replace_waiting.target, payload = replace_waiting.payload, options = replace_waiting.options, labels = replace_waiting.labels
   where e.partition = there.partition and e.id = there.id;
  if there.ordering_key is not null then
    perform pgsched_internal.notify_unless_silent('turns');
  end if;
  perform pgsched_internal.forget_dependencies(there.id);
  perform pgsched_internal.notify_wake(there.partition, replace_waiting.fire_at);  -- the trigger fires only on inserts
end $$;
comment on function pgsched_internal.replace_waiting(pgsched.executions, text, jsonb, timestamptz, jsonb, jsonb)
  is 'Replaces the content and the instant of a locked waiting execution, and resets its attempts.';

create or replace function pgsched_internal.kept_under(client text, key text, on_conflict text)
  returns pgsched_internal.placement language plpgsql volatile as $$
declare
  held pgsched_internal.keys;
  there pgsched.executions;
begin
  select k.* into held from pgsched_internal.keys k where k.client_id = client and k.key = kept_under.key;
  if held.id is not null then
    there := pgsched_internal.live_execution(held.partition, held.id);
  end if;
  if there.id is null then
    return null;
  end if;
  return pgsched_internal.left_as_it_is(held, there, on_conflict);
end $$;
comment on function pgsched_internal.kept_under(text, text, text)
  is 'The result of scheduling if a live execution holds the key and stays unchanged; null if there is no such
execution. Locks no row. Raises PS011 if there is one and on_conflict is reject.';

create or replace function pgsched_internal.ended_under(
  held pgsched_internal.keys, client text, key text, on_conflict text, home smallint
) returns pgsched_internal.placement language plpgsql volatile as $$
declare
  ended constant uuid := pgsched_internal.succeeded_lately(client, key, held.id);
begin
  if ended is null then
    return null;
  elsif held.id is null then
    perform pgsched_internal.give_key(client, key, ended, home);
  end if;
  return pgsched_internal.left_as_it_is(row(client, key, ended, home, null)::pgsched_internal.keys, null, on_conflict);
end $$;
comment on function pgsched_internal.ended_under(pgsched_internal.keys, text, text, text, smallint)
  is 'The result of scheduling if the key still belongs to an execution that succeeded within the retention time; null
if there is no such execution. Raises PS011 if there is one and on_conflict is reject.';

-- With debounce, a new execution gets the key if the execution that holds it is running.
create or replace function pgsched_internal.schedule_under(
  held pgsched_internal.keys, new_id uuid, home smallint, target text, payload jsonb, fire_at timestamptz, client text, key text,
  ordering_key text, options jsonb, on_conflict text, labels jsonb
) returns pgsched_internal.placement language plpgsql volatile set plan_cache_mode = force_custom_plan as $$
declare
  there constant pgsched.executions := case when on_conflict in ('keep', 'reject') then pgsched_internal.live_execution(held.partition, held.id)
                                            else pgsched_internal.lock_live(held.partition, held.id) end;
  debounces constant boolean := on_conflict = 'debounce';
  replaces constant boolean := there.id is not null and there.lease_token is null and on_conflict in ('replace', 'debounce');
  ended pgsched_internal.placement;
begin
  if there.id is not null and not replaces and not debounces then
    return pgsched_internal.left_as_it_is(held, there, on_conflict);
  elsif there.id is null and not debounces then
    ended := pgsched_internal.ended_under(held, client, key, on_conflict, home);
    if ended.id is not null then
      return ended;
    end if;
  elsif replaces and debounces then
    target := there.target;
    payload := there.payload;
    options := there.options;
    labels := there.labels;
  end if;
  if replaces and there.partition = home then
    perform pgsched_internal.replace_waiting(there, target, payload, fire_at, options, labels);
    return row(there.id, 'replaced', fire_at, home)::pgsched_internal.placement;
  elsif replaces then  -- the new ordering key or queue belongs to another partition
    delete from pgsched.executions e where e.partition = there.partition and e.id = there.id;
    perform pgsched_internal.end_execution(there, 'cancelled', 'replaced');
  end if;
  if held.id is not null then
    perform pgsched_internal.give_key(client, key, new_id, home);
  end if;
  perform pgsched_internal.insert_waiting(new_id, fire_at, client, target, payload, options, key, ordering_key, home, labels);
  return row(new_id, case when replaces then 'replaced' else 'created' end, fire_at, home)::pgsched_internal.placement;
end $$;
comment on function pgsched_internal.schedule_under(pgsched_internal.keys, uuid, smallint, text, jsonb, timestamptz, text, text, text, jsonb, text, jsonb)
  is 'Schedules one execution under a locked key that has been used before; called by schedule_keyed.';

-- A key takes the short path if no live execution holds it, and none has succeeded under it recently.
create or replace function pgsched_internal.schedule_keyed(
  target text, payload jsonb, fire_at timestamptz, client text, key text, ordering_key text, queue text, options jsonb,
  on_conflict text, labels jsonb
) returns pgsched_internal.placement language plpgsql volatile as $$
declare
  home constant smallint := pgsched.partition_for(queue, client, key, ordering_key);
  new_id constant uuid := pgsched_internal.new_id_in(home);
  held pgsched_internal.keys;
  kept pgsched_internal.placement;
begin
  if on_conflict in ('keep', 'reject') then
    kept := pgsched_internal.kept_under(client, key, on_conflict);
    if kept.id is not null then
      return kept;
    end if;
  end if;
  held := pgsched_internal.lock_key(client, key, new_id, home);
  if held.id is null and pgsched_internal.key_retention() <= '24 hours' then
    perform pgsched_internal.insert_waiting(new_id, fire_at, client, target, payload, options, key, ordering_key, home, labels);
    return row(new_id, 'created', fire_at, home)::pgsched_internal.placement;
  elsif held.id is not null and held.partition is null and pgsched_internal.is_live(held) then
    perform pgsched_internal.refuse_taken(held, 'give another key, or cancel the job');
  end if;
  return pgsched_internal.schedule_under(held, new_id, home, target, payload, fire_at, client, key, ordering_key, options, on_conflict, labels);
end $$;
comment on function pgsched_internal.schedule_keyed(text, jsonb, timestamptz, text, text, text, text, jsonb, text, jsonb)
  is 'Schedules one execution under a key; called by pgsched.schedule_outcome.';
