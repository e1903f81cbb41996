-- Edits of a one-shot that has not begun, including a move to another instant. Changes are given as JSON, as for a job.

create or replace function pgsched_internal.check_execution_changes(changes jsonb) returns boolean
  language plpgsql immutable parallel safe as $$
declare
  known constant text[] := array['target', 'payload', 'options', 'labels', 'fire_at'];
  wrong text;
begin
  perform pgsched_internal.check_length(changes, 'the changes are', 2097152);
  if jsonb_typeof(changes) is distinct from 'object' then
    return pgsched_internal.refuse('PS000', 'changes must be a JSON object', 'write changes => ''{"payload": {"order": 42}}''');
  end if;
  select min(name) into wrong from jsonb_object_keys(changes) as name where name <> all (known);
  if wrong in ('client', 'client_id', 'key', 'id', 'queue', 'ordering_key', 'partition') then
    return pgsched_internal.refuse('PS000', format('the %s of an execution cannot be changed', wrong), 'schedule another execution, and cancel this one');
  elsif wrong is not null then
    return pgsched_internal.refuse('PS000', format('an execution has no field %L that can be changed', left(wrong, 100)),
      format('the fields that can be changed are %s', array_to_string(known, ', ')));
  elsif changes ? 'target' and jsonb_typeof(changes -> 'target') <> 'string' then
    return pgsched_internal.refuse('PS000', format('target cannot be %s', left((changes -> 'target')::text, 100)), 'write a string, in quotes');
  elsif changes ? 'fire_at' and not pgsched_internal.is_instant(changes -> 'fire_at') then
    return pgsched_internal.refuse('PS002', format('fire_at cannot be %s', left((changes -> 'fire_at')::text, 100)),
      'write an instant with an offset, such as "2026-03-01T09:00:00Z"');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_execution_changes(jsonb)
  is 'True for changes that pgsched.edit can apply to an execution; raises PS000 or PS002 with a hint otherwise.';

-- Once a target may have seen the content of an execution, only the instant can change. So an execution that a worker
-- has lost counts as begun: the worker may have called its target.
create or replace function pgsched_internal.lock_editable(id uuid, changes jsonb) returns pgsched.executions language plpgsql volatile as $$
declare
  waiting constant pgsched.executions := pgsched_internal.lock_execution(lock_editable.id);
begin
  if waiting.id is null then
    if pgsched_internal.has_ended(lock_editable.id) then
      perform pgsched_internal.refuse('PS011', format('execution %s has ended', lock_editable.id), 'schedule it again');
    end if;
    perform pgsched_internal.refuse('PS010', format('there is no job or execution %s', lock_editable.id), 'the ids and keys are in pgsched.status and pgsched.jobs');
  end if;
  perform pgsched_internal.check_execution_changes(changes);
  if waiting.job_id is not null then
    perform pgsched_internal.refuse('PS011', format('execution %s belongs to job %s', waiting.id, waiting.job_id), 'edit the job, or trigger it');
  elsif waiting.lease_token is not null then
    perform pgsched_internal.refuse('PS011', format('execution %s is running', waiting.id),
      'only a waiting execution can be changed; cancel this one and schedule another');
  elsif changes - 'fire_at' <> '{}' and (waiting.attempt > 0 or waiting.losses > 0 or waiting.uncounted > 0) then
    perform pgsched_internal.refuse('PS011', format('execution %s has already started and will be retried', waiting.id),
      'only its fire_at can be changed; for other changes, cancel it and schedule another');
  end if;
  return waiting;
end $$;
comment on function pgsched_internal.lock_editable(uuid, jsonb)
  is 'Locks and returns a one-shot to which these changes can be made, if the session acts for its client. Raises PS010
if there is no such one-shot, and PS011 if it is running, has ended or belongs to a job. Also raises PS011 if it has
begun before, unless the changes only move it to another instant.';

-- An execution that a gate holds is released and returns to its instant, because its new target or options may have
-- other gates, which the next claim applies. It stays held if it waits for its dependencies or for its turn under its
-- ordering key: these do not depend on the target.
create or replace function pgsched_internal.edited_execution(before pgsched.executions, changes jsonb) returns pgsched.executions
  language plpgsql stable as $$
declare
  after pgsched.executions := jsonb_populate_record(before, changes);
begin
  if after.target <> before.target then
    perform pgsched_internal.check_pulled(after.target, (
      select q.name from pgsched.queues q where q.first_partition = pgsched_internal.first_partition_of(before.partition)));
    perform pgsched_internal.check_channel(before.client_id, after.target);
  end if;
  if changes ? 'fire_at' then
    perform pgsched_internal.check_instant(after.fire_at);
    if changes - 'fire_at' <> '{}' and before.fire_at = 'infinity' and before.gate is not null and after.fire_at = before.scheduled_for then
      after.fire_at := before.fire_at;  -- the instant is unchanged: the other changes decide whether to release it
    elsif after.fire_at <> before.fire_at then
      after.scheduled_for := null;
      after.gate := null;
      after.waits := pgsched_internal.waited(before.waits);
      after.reason := null;
    end if;
  end if;
  if after.fire_at = 'infinity' and after.gate <> 'order'
     and (after.target, after.options) is distinct from (before.target, before.options) then
    after.fire_at := coalesce(before.scheduled_for, pgsched.now());
    after.gate := null;
    after.waits := pgsched_internal.waited(before.waits);
    after.reason := null;
  end if;
  if after.options ? 'body' then
    perform pgsched_internal.check_body(after.payload, after.options -> 'body');
  end if;
  return after;
end $$;
comment on function pgsched_internal.edited_execution(pgsched.executions, jsonb)
  is 'An execution as it would be after pgsched.edit. Writes nothing.';

create or replace function pgsched_internal.edit_execution(id uuid, changes jsonb, note text, actor text) returns boolean
  language plpgsql volatile as $$
declare
  before pgsched.executions;
  after pgsched.executions;
  old jsonb;
  new jsonb;
  was jsonb;
  is_now jsonb;
begin
  before := pgsched_internal.lock_editable(edit_execution.id, edit_execution.changes);
  after := pgsched_internal.edited_execution(before, edit_execution.changes);
  old := to_jsonb(before);
  new := to_jsonb(after);
  select jsonb_object_agg(n.name, pgsched_internal.shown(n.name, old -> n.name)),
         jsonb_object_agg(n.name, pgsched_internal.shown(n.name, new -> n.name)) into was, is_now
    from jsonb_object_keys(edit_execution.changes) as n(name) where old -> n.name is distinct from new -> n.name;
  if was is null then
    return false;
  end if;
  update pgsched.executions e
     set target = after.target, payload = after.payload, options = after.options, labels = after.labels, fire_at = after.fire_at,
         scheduled_for = after.scheduled_for, gate = after.gate, waits = after.waits, reason = after.reason,
         held_until = case when after.gate is not null then pgsched_internal.held_until(after) end
   where e.partition = before.partition and e.id = before.id;
  if after.fire_at <> before.fire_at then
    perform pgsched_internal.follow_move(before, after.fire_at);
  end if;
  perform pgsched_internal.write_log('edit', edit_execution.id, edit_execution.actor, pgsched_internal.detail_of(edit_execution.note),
    'execution', before => was, after => is_now, client => before.client_id);
  return true;
end $$;
comment on function pgsched_internal.edit_execution(uuid, jsonb, text, text)
  is 'Changes the target, payload, options, labels or instant of a waiting one-shot. Called by pgsched.edit.';

create or replace function pgsched.edit(
  id uuid default null, changes jsonb default '{}', client text default null, key text default null, note text default null, actor text default null,
  force boolean default false
) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
begin
  perform pgsched_internal.check_said(edit.note, edit.actor);
  perform pgsched_internal.check_named(edit.id, edit.client, edit.key);
  if edit.key is not null then
    id := pgsched_internal.lock_named(edit.client, edit.key);
  end if;
  if pgsched_internal.owner_of_job(edit.id) is not null then
    return pgsched_internal.edit_job(edit.id, edit.changes, edit.note, edit.actor, edit.force);
  end if;
  return pgsched_internal.edit_execution(edit.id, edit.changes, edit.note, edit.actor);
end $$;
comment on function pgsched.edit(uuid, jsonb, text, text, text, text, boolean)
  is 'Changes the given fields of a job and its waiting row, or of a waiting one-shot, named by id or by client and key.
True if anything changed. Running executions continue unchanged. Raises PS010 if there is no such job or execution.
Raises PS011 for a cancelled job, for a declared job unless forced, and for an execution that belongs to a job, is
running or has ended. If an execution has begun before, only its fire_at can be changed.';
