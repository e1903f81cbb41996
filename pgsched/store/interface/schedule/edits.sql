-- Changing an execution that is scheduled once and has not begun. What shall be different is said as JSON, as of a job; what is
-- not named stays.

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
    return pgsched_internal.refuse('PS000', format('an execution keeps its %s', wrong), 'schedule another, and cancel this one');
  elsif wrong is not null then
    return pgsched_internal.refuse('PS000', format('an execution has no %L to change', left(wrong, 100)),
      format('what can be changed is %s', array_to_string(known, ', ')));
  elsif changes ? 'target' and jsonb_typeof(changes -> 'target') <> 'string' then
    return pgsched_internal.refuse('PS000', format('target cannot be %s', left((changes -> 'target')::text, 100)), 'write it as text, in quotes');
  elsif changes ? 'fire_at' and not pgsched_internal.is_instant(changes -> 'fire_at') then
    return pgsched_internal.refuse('PS002', format('fire_at cannot be %s', left((changes -> 'fire_at')::text, 100)),
      'write an instant with an offset, such as "2026-03-01T09:00:00Z"');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_execution_changes(jsonb)
  is 'True for what pgsched.edit_execution can read; raises PS000 or PS002 with what to write otherwise.';

-- What a worker has lost may have begun, too.
create or replace function pgsched_internal.refuse_begun(there pgsched.executions) returns void language plpgsql volatile as $$
begin
  if there.job_id is not null then
    perform pgsched_internal.refuse('PS011', format('execution %s belongs to job %s', there.id, there.job_id), 'edit the job, or trigger it');
  elsif there.lease_token is not null then
    perform pgsched_internal.refuse('PS011', format('execution %s is running', there.id),
      'only what has not begun can be changed: cancel it, and schedule another');
  elsif there.attempt > 0 or there.losses > 0 or there.uncounted > 0 then
    perform pgsched_internal.refuse('PS011', format('execution %s has begun before, and is to be tried again', there.id),
      'only what has not begun can be changed: cancel it, and schedule another');
  end if;
end $$;
comment on function pgsched_internal.refuse_begun(pgsched.executions)
  is 'Raises PS011 for an execution that has begun, and for one of a job.';

create or replace function pgsched_internal.lock_unbegun(id uuid) returns pgsched.executions language plpgsql volatile as $$
declare
  waiting constant pgsched.executions := pgsched_internal.lock_execution(lock_unbegun.id);
begin
  if waiting.id is null then
    if pgsched_internal.has_ended(lock_unbegun.id) then
      perform pgsched_internal.refuse('PS011', format('execution %s has ended', lock_unbegun.id), 'schedule it anew');
    elsif pgsched_internal.owner_of_job(lock_unbegun.id) is not null then
      perform pgsched_internal.refuse('PS011', format('%s is a job', lock_unbegun.id), 'change it by pgsched.edit');
    end if;
    perform pgsched_internal.refuse('PS010', format('there is no execution %s', lock_unbegun.id), 'look it up in pgsched.status');
  end if;
  perform pgsched_internal.refuse_begun(waiting);
  return waiting;
end $$;
comment on function pgsched_internal.lock_unbegun(uuid)
  is 'A one-shot of a client that the session acts for, locked, that waits and has not begun; PS010 or PS011 otherwise.';

-- What another target or other options make of the gates is for the next claim to find out: so a gate that holds it lets it go, and
-- it comes back to its instant. Its turn under an ordering key is its own whatever it calls, and what it waits for as well.
create or replace function pgsched_internal.edited_execution(before pgsched.executions, changes jsonb) returns pgsched.executions
  language plpgsql stable as $$
declare
  after pgsched.executions;
begin
  perform pgsched_internal.check_execution_changes(changes);
  after := jsonb_populate_record(before, changes);
  if after.target <> before.target then
    perform pgsched_internal.check_pulled(after.target, (
      select q.name from pgsched.queues q where q.first_partition = pgsched_internal.first_partition_of(before.partition)));
    perform pgsched_internal.check_channel(before.client_id, after.target);
  end if;
  if changes ? 'fire_at' then
    perform pgsched_internal.check_instant(after.fire_at);
    if before.fire_at = 'infinity' and before.gate is not null and after.fire_at = before.scheduled_for then
      after.fire_at := before.fire_at;  -- it is its instant already
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
  is 'An execution as it would be after pgsched.edit_execution; nothing is written.';

create or replace function pgsched.edit_execution(id uuid, changes jsonb, note text default null, actor text default null) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  before pgsched.executions;
  after pgsched.executions;
  old jsonb;
  new jsonb;
  was jsonb;
  is_now jsonb;
begin
  perform pgsched_internal.check_said(edit_execution.note, edit_execution.actor);
  perform pgsched_internal.check_execution_changes(edit_execution.changes);
  before := pgsched_internal.lock_unbegun(edit_execution.id);
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
  perform pgsched_internal.write_log('edit execution', edit_execution.id, edit_execution.actor, pgsched_internal.detail_of(edit_execution.note),
    'execution', before => was, after => is_now, client => before.client_id);
  return true;
end $$;
comment on function pgsched.edit_execution(uuid, jsonb, text, text)
  is 'Changes target, payload, options, labels and instant of a waiting one-shot, those of them that are named; true if anything is
different now. What has begun stays as it is. PS010 for an unknown id, PS011 for one that has begun or ended, and for a job''s.';

create or replace function pgsched.edit_execution(client text, key text, changes jsonb, note text default null, actor text default null)
  returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
begin
  return pgsched.edit_execution(pgsched_internal.lock_named(client, edit_execution.key), edit_execution.changes, edit_execution.note,
    edit_execution.actor);
end $$;
comment on function pgsched.edit_execution(text, text, jsonb, text, text)
  is 'Changes what a client has under a key, as pgsched.edit_execution(id) does.';
