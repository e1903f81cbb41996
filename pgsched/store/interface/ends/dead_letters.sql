-- Dead letters: executions that have ended as failed. They are in history and, once their day of history has been
-- dropped, in kept_dead_letters. A dead letter is open until it is replayed or discarded. Replaying and discarding lock
-- the row first, so that a second call sees what the first did. These functions check the role that the session acts
-- as, and run with their owner's rights, because no client may change history.

-- The filter on the status is outside the union, so that each half is read in order of id, by its own index.
create or replace view pgsched.dead_letters with (security_invoker = true) as
select d.id, d.client_id, d.key, d.job_id, q.name as queue, d.target, pgsched_internal.target_host(d.target) as host, d.payload, d.options,
       d.ordering_key, d.scheduled_for, d.created_at, d.finished_at, d.attempt, d.status_code, d.reason,
       case when d.dealt_with_at is null then 'open' when d.replayed_as is null then 'discarded' else 'replayed' end as state,
       d.replayed_as, d.dealt_with_at, d.dealt_with_by,
       d.finished_at + coalesce(c.dead_letters_for, interval '365 days') as expires_at, d.labels
  from (select h.id, h.client_id, h.key, h.job_id, h.target, h.payload, h.options, h.ordering_key, h.scheduled_for, h.created_at,
               h.finished_at, h.attempt, h.status_code, h.reason, h.replayed_as, h.dealt_with_at, h.dealt_with_by, h.partition,
               h.status, h.labels
          from pgsched.history h
        union all
        select k.id, k.client_id, k.key, k.job_id, k.target, k.payload, k.options, k.ordering_key, k.scheduled_for, k.created_at,
               k.finished_at, k.attempt, k.status_code, k.reason, k.replayed_as, k.dealt_with_at, k.dealt_with_by, k.partition,
               k.status, k.labels
          from pgsched_internal.kept_dead_letters k) d
  left join pgsched.queues q on q.first_partition = pgsched_internal.first_partition_of(d.partition)
  left join pgsched.clients c on c.client_id = d.client_id
 where d.status = 'failed' and d.finished_at + coalesce(c.dead_letters_for, interval '365 days') > pgsched.now();
comment on view pgsched.dead_letters
  is 'Executions that ended as failed and have not expired, with what was done about each of them.';

-- Another client's dead letter cannot be told apart from one that does not exist, and is never locked.
create or replace function pgsched_internal.lock_dead_letter(id uuid, or_dependent boolean default false, out letter pgsched.history) language plpgsql volatile as $$
declare
  live pgsched.executions;
begin
  letter := pgsched_internal.in_history(lock_dead_letter.id);
  if pgsched_internal.acts_for(letter.client_id) then
    execute 'select h.* from pgsched.history h where h.id = $1 and h.finished_at = $2 for update'
       into letter using lock_dead_letter.id, letter.finished_at;
  end if;
  if letter.id is null then  -- a later statement finds a row that was being moved
    select k.* into letter from pgsched_internal.kept_dead_letters k
     where k.id = lock_dead_letter.id and pgsched_internal.acts_for(k.client_id) for update;
  end if;
  if letter.id is null then
    live := pgsched_internal.live_execution(pgsched_internal.partition_with(lock_dead_letter.id), lock_dead_letter.id);
    letter.id := live.id;
    letter.client_id := live.client_id;
  end if;
  if letter.id is null or not pgsched_internal.acts_for(letter.client_id) then
    perform pgsched_internal.refuse('PS010', format('there is no dead letter %s', lock_dead_letter.id), 'the ids are in pgsched.dead_letters');
  elsif letter.status is null then
    perform pgsched_internal.refuse('PS011', format('execution %s has not ended', lock_dead_letter.id),
      'wait until it has ended; only a failed execution can be replayed or discarded');
  elsif letter.status <> 'failed' and not (or_dependent and pgsched_internal.was_dependent(letter)) then
    perform pgsched_internal.refuse('PS011', format('execution %s has ended with status %s', lock_dead_letter.id, letter.status),
      'only a failed execution can be replayed or discarded; schedule it again');
  end if;
  if letter.finished_at + coalesce((select c.dead_letters_for from pgsched.clients c where c.client_id = letter.client_id),
                                   interval '365 days') <= pgsched.now() then
    perform pgsched_internal.refuse('PS011', format('dead letter %s has expired', lock_dead_letter.id),
      'schedule it again; dead_letters_for in pgsched.clients says how long dead letters are kept');
  end if;
end $$;
comment on function pgsched_internal.lock_dead_letter(uuid, boolean)
  is 'Locks a dead letter that has not expired, if the session acts for its client. If or_dependent is true, also
accepts an execution that was skipped because another execution did not succeed. Raises PS010 or PS011 otherwise.';

create or replace function pgsched_internal.unblock_after(ids uuid[]) returns void language plpgsql volatile as $$
declare
  freed pgsched.blocked_keys;
begin
  for freed in delete from pgsched.blocked_keys b where b.execution_id = any (ids) returning b.* loop
    perform pgsched_internal.let_next(freed.partition, freed.client_id, freed.ordering_key);
    perform pgsched_internal.notify_unless_silent('turns');
  end loop;
end $$;
comment on function pgsched_internal.unblock_after(uuid[])
  is 'Unblocks the ordering keys that these dead letters blocked, because they have been dealt with.';

create or replace function pgsched_internal.mark_dead_letter(letter pgsched.history, replayed_as uuid, actor text) returns void
  language plpgsql volatile as $$
begin
  update pgsched.history h
     set replayed_as = mark_dead_letter.replayed_as, dealt_with_at = pgsched.now(),
         dealt_with_by = coalesce(mark_dead_letter.actor, pgsched_internal.acting_role())
   where h.id = letter.id and h.finished_at = letter.finished_at;
  if not found then
    update pgsched_internal.kept_dead_letters k
       set replayed_as = mark_dead_letter.replayed_as, dealt_with_at = pgsched.now(),
           dealt_with_by = coalesce(mark_dead_letter.actor, pgsched_internal.acting_role())
     where k.id = letter.id;
  end if;
  if letter.ordering_key is not null then
    perform pgsched_internal.unblock_after(array[letter.id]);
  end if;
end $$;
comment on function pgsched_internal.mark_dead_letter(pgsched.history, uuid, text)
  is 'Records on a locked dead letter what was done about it and by whom, and unblocks the ordering key that it
blocked.';

-- Only a key, or an instant of a job, can show that the work of a dead letter is under way or has been done since.
create or replace function pgsched_internal.superseded_by(letter pgsched.history) returns uuid language plpgsql volatile as $$
declare
  held pgsched_internal.keys;
  found_id uuid;
begin
  if letter.job_id is not null then
    select e.id into found_id from pgsched_internal.rows_of_job(letter.job_id, 'e.scheduled_for = $3', low => letter.scheduled_for) e limit 1;
  elsif letter.key is not null then
    select k.* into held from pgsched_internal.keys k where k.client_id = letter.client_id and k.key = letter.key;
    found_id := case when pgsched_internal.is_live(held) then held.id end;
  end if;
  if found_id is not null or num_nulls(letter.job_id, letter.key) = 2 then
    return found_id;
  end if;
  return (pgsched_internal.first_in_history('h.status = ''succeeded'' and ' || case when letter.job_id is not null
            then 'h.job_id = $3 and h.scheduled_for = $6' else 'h.client_id = $4 and h.key = $5 and h.finished_at > $6' end,
    letter.finished_at, letter.job_id, letter.client_id, letter.key,
    case when letter.job_id is not null then letter.scheduled_for else letter.finished_at end, onward => letter.job_id is null)).id;
end $$;
comment on function pgsched_internal.superseded_by(pgsched.history)
  is 'The id of an execution under the same key, or for the same instant of the job, that is waiting or running or has
succeeded since the failure; null if there is none.';

-- The replay keeps the nominal instant, which its work may depend on. The nominal instant is long past, so options that
-- limit the age of an execution are left out, and a plan of 0 turns off the client's defaults for these options. The
-- replay belongs to no job: the job's runs neither wait for it nor end it.
create or replace function pgsched_internal.revive(
  letter pgsched.history, fire_at timestamptz, target text, payload jsonb, options jsonb, actor text
) returns uuid language plpgsql volatile as $$
declare
  queue constant text := (select q.name from pgsched.queues q where q.first_partition = pgsched_internal.first_partition_of(letter.partition));
  new_id uuid := pgsched_internal.new_id_in(letter.partition);
  held pgsched_internal.keys;
begin
  if letter.key is not null then
    held := pgsched_internal.lock_key(letter.client_id, letter.key, new_id, letter.partition);
  end if;
  if pgsched_internal.superseded_by(letter) is not null then
    return null;
  elsif queue is null then
    perform pgsched_internal.refuse('PS011', format('the queue of dead letter %s was dropped', letter.id), 'schedule it again in an existing queue');
  end if;
  perform pgsched_internal.check_pulled(coalesce(revive.target, letter.target), queue);
  if coalesce(revive.options, letter.options) ? 'body' then
    perform pgsched_internal.check_body(coalesce(revive.payload, letter.payload), coalesce(revive.options, letter.options) -> 'body');
  end if;
  if letter.ordering_key is not null then
    -- The replay must also precede executions of the same instant that came after the original. Executions of one
    -- instant are ordered by id, so the new id begins with the same time as the original. Making the replay the head of
    -- its key here would block workers until this transaction ends.
    new_id := overlay(new_id::text placing left(letter.id::text, 14) from 1 for 14);
  end if;
  if held.id is not null then
    perform pgsched_internal.give_key(letter.client_id, letter.key, new_id, letter.partition);
  end if;
  insert into pgsched.executions as e (id, fire_at, scheduled_for, plan, partition, client_id, target, payload, options, key,
                                       ordering_key, labels)
  values (new_id, revive.fire_at, letter.scheduled_for, 0, letter.partition, letter.client_id, coalesce(revive.target, letter.target),
          coalesce(revive.payload, letter.payload),
          nullif(coalesce(revive.options, letter.options) - array['relevant_for', 'max_retry_age', 'deadline'], '{}'),
          letter.key, letter.ordering_key, letter.labels)
  on conflict do nothing returning e.id into new_id;
  if new_id is not null then
    perform pgsched_internal.mark_dead_letter(letter, new_id, revive.actor);
  end if;
  return new_id;
end $$;
comment on function pgsched_internal.revive(pgsched.history, timestamptz, text, jsonb, jsonb, text)
  is 'Schedules a locked dead letter again as a new execution with the full number of attempts, and marks the dead
letter as replayed. Returns the new id, or null if the work is under way or has been done since. Raises PS001 if the
target does not fit the queue, and PS011 if the queue was dropped.';

create or replace function pgsched.replay(
  id uuid, target text default null, payload jsonb default null, options jsonb default null, note text default null,
  actor text default null
) returns uuid language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  letter constant pgsched.history := pgsched_internal.lock_dead_letter(replay.id, or_dependent => true);
  waits_for constant jsonb := pgsched_internal.still_to_wait_for(letter);
  ended pgsched.execution_status;
  new_id uuid;
begin
  perform pgsched_internal.check_said(replay.note, replay.actor);
  if replay.target is not null then
    perform pgsched_internal.check_target(replay.target);
  end if;
  if replay.options is not null then
    perform pgsched_internal.check_options(replay.options);
  end if;
  if letter.replayed_as is not null then
    ended := (pgsched_internal.in_history(letter.replayed_as)).status;
    if ended = 'failed' then
      return pgsched.replay(letter.replayed_as, replay.target, replay.payload, replay.options, replay.note, replay.actor);
    elsif ended is null or ended = 'succeeded' then
      return letter.replayed_as;
    end if;  -- it was cancelled or expired, so the work is not done
  elsif letter.dealt_with_at is not null then
    perform pgsched_internal.refuse('PS011', format('dead letter %s was discarded by %s', letter.id, letter.dealt_with_by), 'schedule it again');
  end if;
  new_id := pgsched_internal.revive(letter, pgsched.now(), replay.target, replay.payload, replay.options, replay.actor);
  if new_id is null then
    perform pgsched_internal.refuse('PS011', format('dead letter %s was superseded by %s, which is waiting or running, or has succeeded', letter.id,
      coalesce('execution ' || pgsched_internal.superseded_by(letter)::text, 'an execution of another call')), 'discard the dead letter, or schedule it again under another key');
  end if;
  if waits_for <> '{}' then
    perform pgsched_internal.hold_for(letter.partition, new_id, waits_for, pgsched.now());
  end if;
  perform pgsched_internal.write_log('replay', letter.id, replay.actor,
    jsonb_strip_nulls(jsonb_build_object('execution', new_id, 'note', replay.note)),
    'execution', before => '{"state": "open"}', after => jsonb_build_object('state', 'replayed', 'replayed_as', new_id),
    client => letter.client_id);
  return new_id;
end $$;
comment on function pgsched.replay(uuid, text, jsonb, jsonb, text, text)
  is 'Runs a dead letter again as a new execution, and returns the new id. A target, payload or options that are given
replace those of the dead letter. Also runs an execution that was skipped because another execution did not succeed,
provided that the other has been replayed. A second call returns the same id, unless the new execution has failed, too.
Raises PS001 if the target does not fit the queue, and PS010 for an unknown id. Raises PS011 if the execution has not
failed, was discarded or has expired, if its queue was dropped, or if its work is under way or has been done since.';

create or replace function pgsched.discard(id uuid, note text default null, actor text default null) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  letter constant pgsched.history := pgsched_internal.lock_dead_letter(discard.id);
begin
  perform pgsched_internal.check_said(discard.note, discard.actor);
  if letter.replayed_as is not null then
    perform pgsched_internal.refuse('PS011', format('dead letter %s was replayed as %s', letter.id, letter.replayed_as),
      'cancel that execution, or discard it once it has failed');
  elsif letter.dealt_with_at is not null then
    return false;
  end if;
  perform pgsched_internal.mark_dead_letter(letter, null, discard.actor);
  perform pgsched_internal.write_log('discard', letter.id, discard.actor, pgsched_internal.detail_of(discard.note), 'execution',
    before => '{"state": "open"}', after => '{"state": "discarded"}', client => letter.client_id);
  return true;
end $$;
comment on function pgsched.discard(uuid, text, text)
  is 'Marks a dead letter as discarded; it stays in history. False if it was already discarded. Raises PS010 for an
unknown id, and PS011 if the execution has not failed, was replayed or has expired.';

create or replace function pgsched_internal.expire_dead_letters(most integer) returns integer
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  expired integer;
begin
  delete from pgsched_internal.kept_dead_letters k where k.id = any (array(
    select o.id from pgsched_internal.kept_dead_letters o
     where o.finished_at < pgsched.now() - interval '1 hour' and not pgsched_internal.is_kept(o.client_id, o.finished_at)
     order by o.finished_at limit most for update skip locked));
  get diagnostics expired = row_count;
  return expired;
end $$;
comment on function pgsched_internal.expire_dead_letters(integer)
  is 'Deletes expired dead letters whose day of history has been dropped, up to a limit. Returns how many it deleted.';
