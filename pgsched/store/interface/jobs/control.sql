-- What may be done with what waits. Lock order everywhere: the job first, then its waiting row, and a waiting row
-- that a worker has in hand at this moment is passed over: it runs, its claim leaves the job alone, and what comes after it
-- is for whoever plans the job next.

create or replace function pgsched_internal.waiting_of_job(partition smallint, job_id uuid) returns setof pgsched.executions
  language plpgsql volatile as $$
begin
  return query execute format('select e.* from %s e.job_id = $1 and e.lease_token is null',
    pgsched_internal.in_partition(waiting_of_job.partition)) using waiting_of_job.job_id;
end $$;
comment on function pgsched_internal.waiting_of_job(smallint, uuid) is 'The rows of a job that wait in a partition, not locked.';

create or replace function pgsched_internal.lock_planned(partition smallint, job_id uuid) returns setof pgsched.executions
  language plpgsql volatile as $$
begin
  return query execute format('select e.* from %s e.job_id = $1 and e.lease_token is null'
    ' and e.attempt = 0 and e.plan > 0 for update skip locked', pgsched_internal.in_partition(lock_planned.partition)) using lock_planned.job_id;
end $$;
comment on function pgsched_internal.lock_planned(smallint, uuid)
  is 'Locks the rows that were planned for a job and wait in a partition; passes over what somebody has at this moment.';

-- Of a job's waiting rows only the planned one goes: triggered rows and retries stay. An instant that has come keeps
-- its account in history, as the first of all those up to now; one that has not come yet is the next plan's. A row that an
-- earlier change passed over, and whose claim came to nothing, stands for its own instant alone.
create or replace function pgsched_internal.withdraw(job_id uuid, reason text default 'replaced') returns void
  language plpgsql volatile as $$
declare
  waiting pgsched.executions;
  planned integer;
  carries_on boolean;
begin
  select j.planned_revision into planned from pgsched.jobs j
   where j.id = withdraw.job_id and j.planned_revision = j.revision - 1;  -- this change is the first since it was planned
  for waiting in
    select w.* from unnest(pgsched_internal.homes_of(withdraw.job_id)) home, pgsched_internal.lock_planned(home, withdraw.job_id) w
  loop
    delete from pgsched.executions e where e.partition = waiting.partition and e.id = waiting.id;
    carries_on := waiting.plan is not distinct from planned;
    if carries_on and coalesce(waiting.scheduled_for, waiting.fire_at) <= pgsched.now() then
      perform pgsched_internal.end_execution(waiting, 'skipped', withdraw.reason, pgsched.now());
    elsif waiting.awaited or not carries_on then  -- whoever waits for it learns that it will not run
      perform pgsched_internal.end_execution(waiting, 'skipped', withdraw.reason);
    elsif waiting.fire_at = 'infinity' then
      perform pgsched_internal.forget_dependencies(waiting.id);
    end if;
  end loop;
  perform pgsched_internal.account_from_claimed(withdraw.job_id, planned);
end $$;
comment on function pgsched_internal.withdraw(uuid, text) is 'Takes back the planned row of a job that is edited, paused or cancelled.';

-- Where nobody has planned what there is, the new schedule counts from where the old one would have. What was cancelled
-- ahead stays so as long as the job fires as it did.
create or replace function pgsched_internal.accounted_to(job pgsched.jobs, fires_anew boolean) returns timestamptz
  language sql stable parallel safe as $$
  select case when job.state in ('finished', 'invalid') then pgsched.now()
              when job.planned_revision = job.revision then
                case when fires_anew then pgsched.now() else greatest(job.accounted_to, pgsched.now()) end
              else case when fires_anew then least(job.accounted_to, pgsched.now()) else job.accounted_to end end
$$;
comment on function pgsched_internal.accounted_to(pgsched.jobs, boolean)
  is 'Up to when the instants of a job that is changed now have their account, once its planned row is taken back.';

-- What is passed over has its row locked, but not committed: it is still seen to wait. A claim that had committed would
-- have carried the job on before the job could be locked for the change.
create or replace function pgsched_internal.account_from_claimed(job_id uuid, planned integer) returns void
  language plpgsql volatile as $$
declare
  claimed timestamptz;
begin
  select min(e.scheduled_for) into claimed
    from unnest(pgsched_internal.homes_of(account_from_claimed.job_id)) home,
         pgsched_internal.waiting_of_job(home, account_from_claimed.job_id) e
   where e.attempt = 0 and e.plan = planned and e.scheduled_for < pgsched.now();
  update pgsched.jobs j set accounted_to = claimed where j.id = account_from_claimed.job_id and j.accounted_to > claimed;
end $$;
comment on function pgsched_internal.account_from_claimed(uuid, integer)
  is 'Has the planner go on from the due row that a worker is claiming at this moment, while its job is changed.';

-- The planner goes on from the last instant that is accounted for; only where nothing else would carry the job on.
create or replace function pgsched_internal.carry_on(job_id uuid, accounted_to timestamptz) returns void
  language plpgsql volatile as $$
begin
  update pgsched.jobs j set planned_revision = 0, accounted_to = carry_on.accounted_to
   where j.id = carry_on.job_id and j.state = 'active' and j.planned_revision = j.revision
     and not exists (select from pgsched.executions e where e.partition = pgsched_internal.partition_of(j) and e.job_id = j.id
                        and e.plan = j.revision and e.attempt = 0);
  perform pgsched_internal.notify_workers('plan');
end $$;
comment on function pgsched_internal.carry_on(uuid, timestamptz) is 'Has a worker plan the next row of a job whose planned row was cancelled.';

create or replace function pgsched_internal.owner_of_job(id uuid) returns text language plpgsql stable as $$
declare
  whose text;
begin
  select j.client_id into whose from pgsched.jobs j where j.id = owner_of_job.id;
  return case when pgsched_internal.acts_for(whose) then whose end;
end $$;
comment on function pgsched_internal.owner_of_job(uuid)
  is 'The client of a job, where the session acts for that client; null for an unknown job and for another client''s.';

create or replace function pgsched_internal.lock_job(id uuid) returns pgsched.jobs language plpgsql volatile as $$
declare
  whose constant text := pgsched_internal.owner_of_job(lock_job.id);
  job pgsched.jobs;
begin
  select * into job from pgsched.jobs j where j.id = lock_job.id and j.client_id = whose for update;
  if not found then
    perform pgsched_internal.refuse('PS010', format('there is no job %s', lock_job.id), 'look it up in pgsched.jobs');
  end if;
  return job;
end $$;
comment on function pgsched_internal.lock_job(uuid)
  is 'A job of a client that the session acts for, locked until the transaction ends; PS010 for an unknown or foreign one.';

-- A running row is returned, but not locked: whoever has it in hand must not wait for the caller's transaction.
create or replace function pgsched_internal.lock_execution(id uuid) returns pgsched.executions language plpgsql volatile as $$
declare
  home constant smallint := pgsched_internal.partition_with(lock_execution.id);
  found_row pgsched.executions := pgsched_internal.live_execution(home, lock_execution.id);
begin
  if found_row.id is null or not pgsched_internal.acts_for(found_row.client_id) then
    return null;
  elsif found_row.lease_token is null then
    found_row := pgsched_internal.lock_waiting(home, lock_execution.id);
    if found_row.id is null then  -- claimed, or ended, at this very moment
      found_row := pgsched_internal.live_execution(home, lock_execution.id);
    end if;
  end if;
  return found_row;
end $$;
comment on function pgsched_internal.lock_execution(uuid)
  is 'A live execution of a client that the session acts for, locked while it waits; null for one that is unknown, foreign or over.';

create or replace function pgsched_internal.has_ended(id uuid) returns boolean language plpgsql volatile as $$
declare
  whose constant text := (pgsched_internal.in_history(has_ended.id)).client_id;
begin
  return whose is not null and pgsched_internal.acts_for(whose);
end $$;
comment on function pgsched_internal.has_ended(uuid)
  is 'Whether history knows an execution of a client that the session acts for.';

create or replace function pgsched.cancel(id uuid, note text default null, actor text default null) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  waiting pgsched.executions;
  job pgsched.jobs;
begin
  perform pgsched_internal.check_said(cancel.note, cancel.actor);
  if pgsched_internal.owner_of_job(cancel.id) is not null then
    job := pgsched_internal.lock_job(cancel.id);
    if job.state = 'cancelled' then
      return false;
    end if;
    update pgsched.jobs j set state = 'cancelled', reason = coalesce(cancel.note, j.reason), revision = j.revision + 1,
                              updated_at = pgsched.now()
     where j.id = cancel.id;
    perform pgsched_internal.withdraw(cancel.id, 'job cancelled');
    perform pgsched.cancel_backfill(b.id) from pgsched.backfills b where b.job_id = cancel.id and b.state = 'active';
    perform pgsched_internal.write_log('cancel', cancel.id, cancel.actor, pgsched_internal.detail_of(cancel.note));
    return true;
  end if;
  waiting := pgsched_internal.lock_execution(cancel.id);
  if waiting.id is null then
    if not pgsched_internal.has_ended(cancel.id) then
      perform pgsched_internal.refuse('PS010', format('there is no job or execution %s', cancel.id), 'look it up in pgsched.status or pgsched.jobs');
    end if;
    return false;
  elsif waiting.lease_token is not null then
    perform pgsched_internal.refuse('PS011', format('execution %s is running', cancel.id), 'only what waits can be cancelled');
  end if;
  if num_nonnulls(cancel.actor, cancel.note, waiting.job_id) > 0 then  -- of a service's own one-shots history tells enough
    perform pgsched_internal.write_log('cancel', cancel.id, cancel.actor, pgsched_internal.detail_of(cancel.note));
  end if;
  delete from pgsched.executions e where e.partition = waiting.partition and e.id = waiting.id;
  perform pgsched_internal.end_execution(waiting, 'cancelled', coalesce(cancel.note, 'cancelled'));
  if waiting.plan > 0 and waiting.attempt = 0 then
    perform pgsched_internal.carry_on(waiting.job_id, coalesce(waiting.scheduled_for, pgsched.now()));
  end if;
  return true;
end $$;
comment on function pgsched.cancel(uuid, text, text)
  is 'Cancels a job, or an execution that waits. True if this call did it, false if it had ended before; PS010 for an
unknown id, PS011 for an execution that is running.';

create or replace function pgsched.cancel(client text, key text, note text default null, actor text default null) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  held pgsched_internal.keys;
begin
  perform pgsched_internal.check_said(cancel.note, cancel.actor);
  perform pgsched_internal.check_acts_for(client);
  select k.* into held from pgsched_internal.keys k where k.client_id = client and k.key = cancel.key for update;
  if pgsched_internal.is_live(held) then
    return pgsched.cancel(id => held.id, note => cancel.note, actor => cancel.actor);
  elsif pgsched_internal.last_under(client, cancel.key) is null
      and not exists (select from pgsched.jobs j where j.client_id = client and j.key = cancel.key) then
    perform pgsched_internal.refuse('PS010', format('client %L has nothing under the key %L', client, key), 'look it up in pgsched.status or pgsched.jobs');
  end if;
  return false;
end $$;
comment on function pgsched.cancel(text, text, text, text) is 'Cancels what a client has under a key, as pgsched.cancel(id) does.';

create or replace function pgsched.reschedule(id uuid, fire_at timestamptz, actor text default null) returns void
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  waiting pgsched.executions;
begin
  perform pgsched_internal.check_said(null, reschedule.actor);
  perform pgsched_internal.check_instant(reschedule.fire_at);
  waiting := pgsched_internal.lock_execution(reschedule.id);
  if waiting.id is null then
    if pgsched_internal.has_ended(reschedule.id) then
      perform pgsched_internal.refuse('PS011', format('execution %s has ended', reschedule.id), 'schedule it anew');
    elsif pgsched_internal.owner_of_job(reschedule.id) is not null then
      perform pgsched_internal.refuse('PS011', format('%s is a job', reschedule.id), 'change its schedule by pgsched.edit');
    end if;
    perform pgsched_internal.refuse('PS010', format('there is no execution %s', reschedule.id), 'look it up in pgsched.status');
  elsif waiting.lease_token is not null then
    perform pgsched_internal.refuse('PS011', format('execution %s is running', reschedule.id), 'only what waits can be rescheduled');
  elsif waiting.job_id is not null then
    perform pgsched_internal.refuse('PS011', format('execution %s belongs to job %s', reschedule.id, waiting.job_id),
      'edit the job''s schedule, or trigger it');
  end if;
  update pgsched.executions e set fire_at = reschedule.fire_at, scheduled_for = null, gate = null, reason = null
   where e.partition = waiting.partition and e.id = waiting.id;
  if waiting.fire_at = 'infinity' then
    perform pgsched_internal.forget_dependencies(reschedule.id);
  end if;
  perform pgsched_internal.notify_wake(waiting.partition, reschedule.fire_at);
  if waiting.ordering_key is not null then
    perform pgsched_internal.notify_turns();
  end if;
  if reschedule.actor is not null then
    perform pgsched_internal.write_log('reschedule', reschedule.id, reschedule.actor,
      jsonb_build_object('fire_at', reschedule.fire_at, 'before', waiting.fire_at));
  end if;
end $$;
comment on function pgsched.reschedule(uuid, timestamptz, text)
  is 'Moves a waiting one-shot to another instant, whatever it waited for; PS010 for an unknown id, PS011 for one that is running, ended or a job''s.';

create or replace function pgsched.trigger(job_id uuid, actor text default null) returns uuid language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  instant timestamptz := pgsched.now() + (clock_timestamp() - now());  -- twice in a transaction is two runs
  job pgsched.jobs;
  new_id uuid;
begin
  perform pgsched_internal.check_said(null, trigger.actor);
  select * into job from pgsched.jobs j where j.id = trigger.job_id and j.client_id = pgsched_internal.owner_of_job(trigger.job_id);
  if not found then
    perform pgsched_internal.refuse('PS010', format('there is no job %s', trigger.job_id), 'look it up in pgsched.jobs');
  elsif job.state = 'cancelled' then
    perform pgsched_internal.refuse('PS011', format('job %s is cancelled', trigger.job_id), 'schedule it again');
  end if;
  loop
    insert into pgsched.executions as e (fire_at, scheduled_for, job_id, partition, client_id, target, payload, options, ordering_key)
    values (instant, instant, job.id, pgsched_internal.partition_of(job), job.client_id, job.target, job.payload,
            job.options, job.ordering_key)
    on conflict do nothing returning e.id into new_id;
    exit when found;
    instant := instant + interval '1 microsecond';  -- the job has a row of that microsecond: one row for an instant
  end loop;
  perform pgsched_internal.write_log('trigger', job.id, trigger.actor, jsonb_build_object('execution', new_id));
  return new_id;
end $$;
comment on function pgsched.trigger(uuid, text)
  is 'Runs a job now, besides its schedule and also while it is paused or finished; returns the execution''s id.';

create or replace function pgsched_internal.partition_of(job pgsched.jobs) returns smallint
  language sql stable parallel safe as $$
  select q.first_partition + pgsched_internal.slot_for(job.client_id, coalesce(job.key, job.id::text), job.ordering_key)
    from pgsched.queues q where q.name = job.queue
$$;
comment on function pgsched_internal.partition_of(pgsched.jobs) is 'The one partition in which all new rows of a job live.';

-- A row that an edit passed over, because a worker had it in hand, stays where the job was then.
create or replace function pgsched_internal.homes_of(job_id uuid) returns smallint[] language sql stable as $$
  select array_append(array(select m.partition from pgsched_internal.job_moves m where m.job_id = j.id), pgsched_internal.partition_of(j))
    from pgsched.jobs j where j.id = homes_of.job_id
$$;
comment on function pgsched_internal.homes_of(uuid) is 'The partitions in which rows of a job may live.';

create or replace function pgsched_internal.note_move(before pgsched.jobs) returns void language sql volatile as $$
  insert into pgsched_internal.job_moves (job_id, partition) values (before.id, pgsched_internal.partition_of(before))
  on conflict do nothing
$$;
comment on function pgsched_internal.note_move(pgsched.jobs)
  is 'Notes where a job was before an edit that has its rows live in another partition from now on.';

create or replace function pgsched.pause(job_id uuid, note text default null, actor text default null) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  job constant pgsched.jobs := pgsched_internal.lock_job(pause.job_id);
begin
  perform pgsched_internal.check_said(pause.note, pause.actor);
  if job.state <> 'active' then
    if job.state = 'paused' then
      return false;
    end if;
    perform pgsched_internal.refuse('PS011', format('job %s is %s', pause.job_id, job.state), 'only an active job can be paused');
  end if;
  -- Where a pause before this one is not accounted for yet, this one goes on from its beginning.
  update pgsched.jobs j set state = 'paused', reason = note, revision = j.revision + 1, updated_at = pgsched.now(),
         paused_at = case when j.planned_revision = j.revision then pgsched.now() else coalesce(j.paused_at, pgsched.now()) end,
         accounted_to = pgsched_internal.accounted_to(j, false)
   where j.id = pause.job_id;
  perform pgsched_internal.withdraw(pause.job_id, 'paused');
  perform pgsched_internal.write_log('pause', pause.job_id, pause.actor, pgsched_internal.detail_of(pause.note));
  return true;
end $$;
comment on function pgsched.pause(uuid, text, text)
  is 'Pauses a job: nothing more is planned until it is resumed; what is running goes on. False if it was paused before.';

create or replace function pgsched.resume(job_id uuid, note text default null, actor text default null) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  job constant pgsched.jobs := pgsched_internal.lock_job(resume.job_id);
begin
  perform pgsched_internal.check_said(resume.note, resume.actor);
  if job.state not in ('paused', 'invalid') then
    if job.state = 'active' then
      return false;
    end if;
    perform pgsched_internal.refuse('PS011', format('job %s is %s', resume.job_id, job.state), 'only a paused job, or one that is invalid, can be resumed');
  end if;
  update pgsched.jobs j set state = 'active', reason = null, revision = j.revision + 1, updated_at = pgsched.now(),
         accounted_to = case when j.state = 'invalid' then pgsched_internal.accounted_to(j, false) else j.accounted_to end
   where j.id = resume.job_id;
  if job.state = 'invalid' then  -- its row may be parked
    perform pgsched_internal.withdraw(resume.job_id, 'resumed');
  end if;
  perform pgsched_internal.write_log('resume', resume.job_id, resume.actor, pgsched_internal.detail_of(resume.note));
  return true;
end $$;
comment on function pgsched.resume(uuid, text, text) is 'Resumes a paused or an invalid job from its next instant on. False if it was active already.';
