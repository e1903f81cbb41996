-- Cancelling jobs and executions, and triggering jobs. The lock order is the same everywhere: the job, then its waiting
-- row. A row that a worker is claiming is skipped: the row runs, its claim does not touch the job, and the next plan
-- continues from the row.

create or replace function pgsched_internal.owner_of_job(id uuid) returns text language plpgsql stable as $$
declare
  whose text;
begin
  select j.client_id into whose from pgsched.jobs j where j.id = owner_of_job.id;
  return case when pgsched_internal.acts_for(whose) then whose end;
end $$;
comment on function pgsched_internal.owner_of_job(uuid)
  is 'The client of a job, if the session acts for that client; null if the job is unknown or belongs to another
client.';

create or replace function pgsched_internal.lock_job(id uuid) returns pgsched.jobs language plpgsql volatile as $$
declare
  whose constant text := pgsched_internal.owner_of_job(lock_job.id);
  job pgsched.jobs;
begin
  select * into job from pgsched.jobs j where j.id = lock_job.id and j.client_id = whose for update;
  if not found then
    perform pgsched_internal.refuse('PS010', format('there is no job %s', lock_job.id), 'the ids are in pgsched.jobs');
  end if;
  return job;
end $$;
comment on function pgsched_internal.lock_job(uuid)
  is 'Locks and returns a job, if the session acts for its client. Raises PS010 if the job is unknown or belongs to
another client.';

-- A running row is not locked, because its worker or consumer must never wait for the caller's transaction, which may
-- stay open for a long time. A row that was claimed ahead of its instant is not running yet.
create or replace function pgsched_internal.lock_live(partition smallint, id uuid) returns pgsched.executions language plpgsql volatile as $$
declare
  there pgsched.executions;
begin
  loop
    there := pgsched_internal.live_execution(lock_live.partition, lock_live.id);
    if pgsched_internal.is_ahead(there) then
      there := pgsched_internal.take_back(there);
    end if;
    if there.id is null or there.lease_token is not null then
      return there;
    end if;
    there := pgsched_internal.lock_waiting(lock_live.partition, lock_live.id);
    if there.id is not null then
      return there;
    end if;  -- in the meantime, a worker has claimed it, or it has ended
  end loop;
end $$;
comment on function pgsched_internal.lock_live(smallint, uuid)
  is 'The live execution with this id in a partition, locked if it is waiting, but not if it is running. Null if it has
ended.';

create or replace function pgsched_internal.lock_execution(id uuid) returns pgsched.executions language plpgsql volatile as $$
declare
  home constant smallint := pgsched_internal.partition_with(lock_execution.id);
begin
  if pgsched_internal.acts_for((pgsched_internal.live_execution(home, lock_execution.id)).client_id) is not true then
    return null;
  end if;
  return pgsched_internal.lock_live(home, lock_execution.id);
end $$;
comment on function pgsched_internal.lock_execution(uuid)
  is 'The live execution with this id, if the session acts for its client; locked if it is waiting. Null if it is
unknown, has ended, or belongs to another client.';

create or replace function pgsched_internal.has_ended(id uuid) returns boolean language plpgsql volatile as $$
declare
  whose constant text := (pgsched_internal.in_history(has_ended.id)).client_id;
begin
  return whose is not null and pgsched_internal.acts_for(whose);
end $$;
comment on function pgsched_internal.has_ended(uuid)
  is 'True if history has this execution and the session acts for its client.';

create or replace function pgsched_internal.cancel_locked(there pgsched.executions, note text, actor text) returns void
  language plpgsql volatile set plan_cache_mode = force_custom_plan as $$
begin
  delete from pgsched.executions e where e.partition = there.partition and e.id = there.id;
  perform pgsched_internal.end_execution(there, 'cancelled', coalesce(cancel_locked.note, 'cancelled'),
    begun => not pgsched_internal.is_ahead(there), lets_next => there.lease_token is not null);
  if there.lease_token is not null then
    perform pgsched_internal.notify_workers('stop ' || there.id);
  end if;
  if there.plan <> 0 and (there.attempt = 0 or there.attempt = 1 and pgsched_internal.is_ahead(there)) and there.scheduled_for > pgsched.now() then
    perform pgsched_internal.take_out(there.job_id, there.scheduled_for, cancel_locked.actor);
  end if;
  if there.plan > 0 and there.attempt = 0 then
    perform pgsched_internal.carry_on(there.job_id, coalesce(there.scheduled_for, pgsched.now()));
  end if;
end $$;
comment on function pgsched_internal.cancel_locked(pgsched.executions, text, text)
  is 'Cancels a locked execution that is waiting or running; its job continues.';

create or replace function pgsched_internal.check_named(id uuid, client text, key text) returns boolean
  language plpgsql immutable parallel safe as $$
begin
  return (client is null) = (key is null) and num_nonnulls(id, key) <= 1
    or pgsched_internal.refuse('PS000', 'id, client and key must name exactly one job or execution', 'give either id, or client and key');
end $$;
comment on function pgsched_internal.check_named(uuid, text, text)
  is 'True if the arguments name one job or execution, by id or by client and key; raises PS000 otherwise.';

create or replace function pgsched_internal.lock_named(client text, key text, live_only boolean default false) returns uuid
  language plpgsql volatile as $$
declare
  held pgsched_internal.keys;
begin
  perform pgsched_internal.check_acts_for(client);
  select k.* into held from pgsched_internal.keys k where k.client_id = client and k.key = lock_named.key for update;
  if held.id is not null and (not live_only or pgsched_internal.is_live(held)) then
    return held.id;
  elsif live_only and (pgsched_internal.last_under(client, lock_named.key) is not null
      or exists (select from pgsched.jobs j where j.client_id = client and j.key = lock_named.key)) then
    return null;
  end if;
  perform pgsched_internal.refuse('PS010', format('client %L has nothing under the key %L', client, key), 'the ids and keys are in pgsched.status and pgsched.jobs');
  return null;
end $$;
comment on function pgsched_internal.lock_named(text, text, boolean)
  is 'Locks a key and returns the id of its holder, if the session acts for the client. Raises PS010 if nothing has ever
held the key. If live_only is true, returns null for a holder that has ended, however long ago.';

create or replace function pgsched.cancel(
  id uuid default null, client text default null, key text default null, note text default null, actor text default null
) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  waiting pgsched.executions;
  job pgsched.jobs;
begin
  perform pgsched_internal.check_said(cancel.note, cancel.actor);
  perform pgsched_internal.check_named(cancel.id, cancel.client, cancel.key);
  if cancel.key is not null then
    id := pgsched_internal.lock_named(cancel.client, cancel.key, live_only => true);
    if cancel.id is null then
      return false;
    end if;
  end if;
  if pgsched_internal.owner_of_job(cancel.id) is not null then
    job := pgsched_internal.lock_job(cancel.id);
    if job.state = 'cancelled' then
      return false;
    end if;
    update pgsched.jobs j set state = 'cancelled', reason = coalesce(cancel.note, j.reason), revision = j.revision + 1,
                              updated_at = pgsched.now()
     where j.id = cancel.id;
    perform pgsched_internal.withdraw(cancel.id, 'job cancelled');
    perform pgsched.stop_bulk(b.id) from pgsched.bulk_operations b
     where b.state = 'active' and b.action = 'backfill' and b.job_id = cancel.id;
    perform pgsched_internal.write_log('cancel', cancel.id, cancel.actor, pgsched_internal.detail_of(cancel.note), 'job');
    return true;
  end if;
  waiting := pgsched_internal.lock_execution(cancel.id);
  if waiting.id is null then
    if not pgsched_internal.has_ended(cancel.id) then
      perform pgsched_internal.refuse('PS010', format('there is no job or execution %s', cancel.id), 'the ids and keys are in pgsched.status and pgsched.jobs');
    end if;
    return false;
  elsif waiting.lease_token is not null then  -- a concurrent settle goes first
    select * into waiting from pgsched.executions e where e.partition = waiting.partition and e.id = waiting.id for update;
    if waiting.id is null then
      return false;
    end if;
  end if;
  -- Not logged if a client's role cancels a one-shot of that client, because history already records everything
  if num_nonnulls(cancel.actor, cancel.note, waiting.job_id) > 0 or not exists (
       select from pgsched.clients c where c.client_id = waiting.client_id and c.database_role = pgsched_internal.acting_role()) then
    perform pgsched_internal.write_log('cancel', cancel.id, cancel.actor, pgsched_internal.detail_of(cancel.note), 'execution',
      before => jsonb_build_object('fire_at', waiting.fire_at), after => '{"status": "cancelled"}', client => waiting.client_id);
  end if;
  perform pgsched_internal.cancel_locked(waiting, cancel.note, cancel.actor);
  return true;
end $$;
comment on function pgsched.cancel(uuid, text, text, text, text)
  is 'Cancels a job, or a waiting or running execution, named by id or by client and key. If the execution is running,
its worker stops the call, and the result does not count. True if the job or execution was cancelled; false if it had
already ended. Raises PS010 if there is no such job or execution.';

create or replace function pgsched_internal.follow_move(before pgsched.executions, fire_at timestamptz) returns void
  language plpgsql volatile as $$
begin
  if before.fire_at = 'infinity' then
    perform pgsched_internal.forget_dependencies(before.id);
  end if;
  perform pgsched_internal.notify_wake(before.partition, follow_move.fire_at);
  if before.ordering_key is not null then
    update pgsched.executions e set at_head = null
     where e.partition = before.partition and e.id = before.id and e.at_head
       and (e.attempt > 0 or e.losses > 0 or e.uncounted > 0) is not true;
    perform pgsched_internal.notify_unless_silent('turns');
  end if;
end $$;
comment on function pgsched_internal.follow_move(pgsched.executions, timestamptz)
  is 'Does what follows when a waiting execution is moved to another instant: the execution no longer waits for others
and, if it has never begun, others with its ordering key may go first. Notifies workers.';

create or replace function pgsched_internal.move_to(waiting pgsched.executions, fire_at timestamptz) returns void
  language plpgsql volatile set plan_cache_mode = force_custom_plan as $$
begin
  update pgsched.executions e set fire_at = move_to.fire_at, scheduled_for = null, gate = null, waits = pgsched_internal.waited(e.waits), reason = null
   where e.partition = waiting.partition and e.id = waiting.id;
  perform pgsched_internal.follow_move(waiting, move_to.fire_at);
end $$;
comment on function pgsched_internal.move_to(pgsched.executions, timestamptz)
  is 'Moves a locked waiting execution to another instant.';

create or replace function pgsched.trigger(job_id uuid, actor text default null) returns uuid
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  instant timestamptz := pgsched.now() + (clock_timestamp() - now());  -- two calls in one transaction are two runs
  job pgsched.jobs;
  new_id uuid;
begin
  perform pgsched_internal.check_said(null, trigger.actor);
  select * into job from pgsched.jobs j where j.id = trigger.job_id and j.client_id = pgsched_internal.owner_of_job(trigger.job_id);
  if not found then
    perform pgsched_internal.refuse('PS010', format('there is no job %s', trigger.job_id), 'the ids are in pgsched.jobs');
  elsif job.state = 'cancelled' then
    perform pgsched_internal.refuse('PS011', format('job %s is cancelled', trigger.job_id), 'schedule it again');
  end if;
  loop
    insert into pgsched.executions as e (fire_at, scheduled_for, job_id, partition, client_id, target, payload, options, ordering_key)
    values (instant, instant, job.id, pgsched_internal.partition_of(job), job.client_id, job.target, job.payload,
            job.options, job.ordering_key)
    on conflict do nothing returning e.id into new_id;
    exit when found;
    instant := instant + interval '1 microsecond';  -- a job has at most one row per instant, and this one is taken
  end loop;
  perform pgsched_internal.write_log('trigger', job.id, trigger.actor, jsonb_build_object('execution', new_id),
    'execution', new_id::text, after => jsonb_build_object('status', 'scheduled', 'fire_at', instant), client => job.client_id);
  return new_id;
end $$;
comment on function pgsched.trigger(uuid, text)
  is 'Runs a job now, in addition to its schedule, even if the job is paused or finished. Returns the id of the
execution.';
