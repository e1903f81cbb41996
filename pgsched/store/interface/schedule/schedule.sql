-- Scheduling by SQL. All of it happens in the caller's transaction.

create or replace function pgsched_internal.setting(name text, fallback text) returns text
  language sql stable parallel safe
  as $$ select coalesce(nullif(current_setting('pgsched.' || name, true), ''), fallback) $$;
comment on function pgsched_internal.setting(text, text)
  is 'A setting of pgsched, such as pgsched.key_retention: from set, alter role or alter database; else the fallback.';

create or replace function pgsched_internal.check_zone(timezone text) returns boolean
  language plpgsql stable parallel safe as $$
begin
  if timezone is null or not exists (select from pg_catalog.pg_timezone_names z where z.name = timezone) then
    return pgsched_internal.refuse('PS002', format('there is no time zone %L', timezone), 'write an IANA name such as Europe/Berlin or UTC');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_zone(text) is 'True for an IANA time zone the server knows; raises PS002 otherwise.';

create or replace function pgsched_internal.check_instant(fire_at timestamptz) returns boolean
  language plpgsql immutable parallel safe as $$
begin
  if fire_at is null or fire_at not between '0001-01-01 00:00+00' and '9999-12-31 00:00+00' then
    return pgsched_internal.refuse('PS002', 'fire_at must be an instant between the years 1 and 9999',
      'give fire_at => now() + interval ''10 minutes''');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_instant(timestamptz)
  is 'True for an instant that every caller and worker can hold; raises PS002 otherwise, also for infinity.';

create or replace function pgsched_internal.check_on_conflict(on_conflict text, key text, recurrence text) returns boolean
  language plpgsql immutable parallel safe as $$
begin
  if on_conflict is null or on_conflict not in ('replace', 'keep', 'reject', 'debounce') then
    return pgsched_internal.refuse('PS000', format('on_conflict cannot be %L', on_conflict), 'write replace, keep, reject or debounce');
  elsif key is null then
    return pgsched_internal.refuse('PS000', 'on_conflict goes with a key', 'give key, or leave on_conflict out');
  elsif on_conflict = 'debounce' and recurrence is not null then
    return pgsched_internal.refuse('PS000', 'debounce moves one instant, and a job has many', 'write replace, keep or reject');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_on_conflict(text, text, text)
  is 'True for what may become of a key that is taken; raises PS000 with what to write otherwise.';

-- The triggers would look through what the statement inserted for what is known here: told has them not do it.
create or replace function pgsched_internal.insert_waiting(
  id uuid, fire_at timestamptz, client text, target text, payload jsonb, options jsonb, key text, ordering_key text, home smallint
) returns void language plpgsql volatile as $$
declare
  told constant boolean := current_setting('pgsched.notify', true) is distinct from 'off';
begin
  if told then
    perform pgsched_internal.refuse_full(home & ~15) from pgsched.queues q where q.full_since is not null limit 1;
    perform set_config('pgsched.notify', 'told', true);
  end if;
  insert into pgsched.executions (id, fire_at, client_id, target, payload, options, key, ordering_key, partition)
  values (insert_waiting.id, insert_waiting.fire_at, client, insert_waiting.target, insert_waiting.payload, insert_waiting.options,
          insert_waiting.key, insert_waiting.ordering_key, home);
  if told then
    perform set_config('pgsched.notify', 'on', true);
    if insert_waiting.fire_at < pgsched.now() + interval '2 seconds' then
      perform pgsched_internal.notify_wake(home, insert_waiting.fire_at);
    end if;
  end if;
end $$;
comment on function pgsched_internal.insert_waiting(uuid, timestamptz, text, text, jsonb, jsonb, text, text, smallint)
  is 'Inserts an execution and wakes a worker for it; called by pgsched.schedule_outcome. PS014 where its queue is full.';

-- What says when has defaults that nobody means, so that null is told from what was left out: what was to be computed, and was
-- not, would fire now.
create or replace function pgsched.schedule_outcome(
  target text, payload jsonb default null, fire_at timestamptz default '4714-11-24 00:00:00+00 BC',
  delay interval default '-178000000 years', cron text default '@once', every interval default '-178000000 years',
  timezone text default null, client text default 'default',
  key text default null, ordering_key text default null, queue text default 'default', options jsonb default null,
  on_conflict text default 'replace', rules jsonb default null, labels jsonb default null, after text[] default null,
  after_outcome text default 'success', gap text default null, overlap text default null,
  out id uuid, out outcome text, out fires_at timestamptz
) language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  placed pgsched_internal.placement;
  null_given text;
  instant timestamptz;
  home smallint;
begin
  perform pgsched_internal.check_acts_for(client);
  null_given := case when schedule_outcome.fire_at is null then 'fire_at' when delay is null then 'delay' when cron is null then 'cron'
                     when every is null then 'every' end;
  fire_at := nullif(schedule_outcome.fire_at, '4714-11-24 00:00:00+00 BC');
  delay := nullif(delay, '-178000000 years');
  cron := nullif(cron, '@once');
  every := nullif(every, '-178000000 years');
  if null_given is not null and num_nonnulls(schedule_outcome.fire_at, delay, cron, every) = 0 then
    perform pgsched_internal.refuse('PS002', format('%s is null', null_given),
      'give it a value, or leave it out: with none of fire_at, delay, cron and every it fires now');
  elsif num_nonnulls(schedule_outcome.fire_at, delay, cron, every) > 1 then
    perform pgsched_internal.refuse('PS002', 'fire_at, delay, cron and every exclude each other', 'give at most one of them; with none it fires now');
  elsif timezone is not null and cron is null and (every is null or rules is null) then
    perform pgsched_internal.refuse('PS002', 'timezone goes with cron', 'give fire_at with its own offset, such as ''2026-03-01 09:00+01''');
  elsif delay < interval '0' then
    perform pgsched_internal.refuse('PS002', 'the delay is negative', 'give delay => ''10 minutes'', or fire_at for an instant in the past');
  elsif schedule_outcome.target is null then
    perform pgsched_internal.check_target(schedule_outcome.target);
  elsif on_conflict is distinct from 'replace' then
    perform pgsched_internal.check_on_conflict(on_conflict, key, coalesce(cron, every::text));
  end if;
  if queue <> 'default' or target = 'queue:' then
    perform pgsched_internal.check_pulled(target, queue);
  end if;
  if after is not null or after_outcome is distinct from 'success' then
    perform pgsched_internal.check_after(after, after_outcome, on_conflict, coalesce(cron, every::text));
  end if;
  if cron is not null or every is not null then
    placed := pgsched_internal.schedule_job(target, payload, cron, every, timezone, client, key, ordering_key, queue, options,
      on_conflict, rules, labels, gap, overlap);
    id := placed.id;
    outcome := placed.outcome;
    return;
  elsif num_nonnulls(rules, labels, gap, overlap) > 0 then
    perform pgsched_internal.refuse('PS002', 'rules, labels, gap and overlap go with cron or every', 'leave them out, or give cron => or every =>');
  end if;
  instant := coalesce(schedule_outcome.fire_at, pgsched.now() + coalesce(delay, interval '0'));
  if instant not between '0001-01-01 00:00+00' and '9999-12-31 00:00+00' then
    perform pgsched_internal.check_instant(instant);
  elsif cardinality(after) > 0 then
    placed := pgsched_internal.schedule_after(target, payload, case when num_nonnulls(schedule_outcome.fire_at, delay) > 0 then instant end,
      client, key, ordering_key, queue, options, on_conflict, after, after_outcome);
  elsif key is not null then
    placed := pgsched_internal.schedule_keyed(target, payload, instant, client, key, ordering_key, queue, options, on_conflict);
  else
    home := pgsched.partition_for(queue, client, null, ordering_key);
    id := pgsched_internal.new_id_in(home);
    outcome := 'created';
    fires_at := instant;
    perform pgsched_internal.insert_waiting(id, instant, client, target, payload, options, null, ordering_key, home);
    return;
  end if;
  id := placed.id;
  outcome := placed.outcome;
  fires_at := placed.fires_at;
end $$;
comment on function pgsched.schedule_outcome(text, jsonb, timestamptz, interval, text, interval, text, text, text, text, text, jsonb, text, jsonb, jsonb, text[], text,
                                     text, text)
  is 'As pgsched.schedule, and says what it came to. The outcome is created; replaced, where it took the place of what waited under
the key; existing, where what stands under the key was left as it is, because it runs or was to be kept; or ended, where that
succeeded less than pgsched.key_retention ago and nothing was scheduled. fires_at is null for a job, and for what runs, waits
for others or has ended.';

-- One expression, so that a call of it becomes one of the function above; its names are looked up when it is made.
create or replace function pgsched.schedule(
  target text, payload jsonb default null, fire_at timestamptz default '4714-11-24 00:00:00+00 BC',
  delay interval default '-178000000 years', cron text default '@once', every interval default '-178000000 years',
  timezone text default null, client text default 'default',
  key text default null, ordering_key text default null, queue text default 'default', options jsonb default null,
  on_conflict text default 'replace', rules jsonb default null, labels jsonb default null, after text[] default null,
  after_outcome text default 'success', gap text default null, overlap text default null
) returns uuid language sql volatile
  return (pgsched.schedule_outcome(target, payload, fire_at, delay, cron, every, timezone, client, key, ordering_key, queue, options,
    on_conflict, rules, labels, after, after_outcome, gap, overlap)).id;
comment on function pgsched.schedule(text, jsonb, timestamptz, interval, text, interval, text, text, text, text, text, jsonb, text, jsonb, jsonb, text[], text,
                                     text, text)
  is 'Schedules one execution (fire_at or delay; with neither, now) or a recurring job (cron or every); returns its id.
Scheduled again under the same client and key it replaces what still waits; what is running or succeeded less than
pgsched.key_retention (24 hours) ago answers with its id instead of firing twice: pgsched.schedule_outcome says which.
on_conflict says otherwise: keep what there is, reject, or debounce, which moves what waits to the new instant. With after it waits until those executions,
named by id or key, have succeeded, or with after_outcome => ''any'' until they have ended.';

create or replace function pgsched_internal.left_as_it_is(held pgsched_internal.keys, there pgsched.executions, on_conflict text)
  returns pgsched_internal.placement language plpgsql volatile as $$
begin
  if on_conflict = 'reject' then
    perform pgsched_internal.refuse_taken(held, 'give another key, or leave on_conflict out to replace what waits');
  end if;
  return row(held.id, case when there.id is null then 'ended' else 'existing' end,
    case when there.lease_token is null and isfinite(there.fire_at) then there.fire_at end, held.partition)::pgsched_internal.placement;
end $$;
comment on function pgsched_internal.left_as_it_is(pgsched_internal.keys, pgsched.executions, text)
  is 'The answer where what stands under a key stays as it is; PS011 where that was to be refused.';

create or replace function pgsched_internal.replace_waiting(
  there pgsched.executions, target text, payload jsonb, fire_at timestamptz, options jsonb
) returns void language plpgsql volatile as $$
begin
  update pgsched.executions e
     set fire_at = replace_waiting.fire_at, scheduled_for = null, attempt = 0, gate = null, reason = null, target = replace_waiting.target,
         payload = replace_waiting.payload, options = replace_waiting.options
   where e.partition = there.partition and e.id = there.id;
  if there.ordering_key is not null then
    perform pgsched_internal.notify_turns();
  end if;
  perform pgsched_internal.forget_dependencies(there.id);
  perform pgsched_internal.notify_wake(there.partition, replace_waiting.fire_at);  -- the trigger sees inserted rows only
end $$;
comment on function pgsched_internal.replace_waiting(pgsched.executions, text, jsonb, timestamptz, jsonb)
  is 'Has an execution that waits, and is locked, begin anew with another content and instant.';

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
  is 'The execution that lives under a key and stays as it is, looked up without a lock; null where there is none. PS011 where that
was to be refused.';

-- A running execution is not locked, however long the caller's transaction stays open: its worker would have to wait for it.
create or replace function pgsched_internal.lock_under(held pgsched_internal.keys, on_conflict text)
  returns pgsched.executions language plpgsql volatile as $$
declare
  there pgsched.executions;
begin
  loop
    there := pgsched_internal.live_execution(held.partition, held.id);
    if there.id is null or there.lease_token is not null or on_conflict in ('keep', 'reject') then
      return there;
    end if;
    there := pgsched_internal.lock_waiting(held.partition, held.id);
    if there.id is not null then
      return there;
    end if;  -- a worker claimed it, or it ended, in between
  end loop;
end $$;
comment on function pgsched_internal.lock_under(pgsched_internal.keys, text)
  is 'The execution that lives under a key whose row is locked, itself locked where it waits and may be replaced.';

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
  is 'The execution that succeeded under a key within the retention, which answers for it; null where there is none.';

-- Where the execution under the key is running and the caller debounces, the key stands for the new execution from now on.
create or replace function pgsched_internal.schedule_under(
  held pgsched_internal.keys, new_id uuid, home smallint, target text, payload jsonb, fire_at timestamptz, client text, key text,
  ordering_key text, queue text, options jsonb, on_conflict text
) returns pgsched_internal.placement language plpgsql volatile as $$
declare
  there constant pgsched.executions := pgsched_internal.lock_under(held, on_conflict);
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
  end if;
  if replaces and there.partition = home then
    perform pgsched_internal.replace_waiting(there, target, payload, fire_at, options);
    return row(there.id, 'replaced', fire_at, home)::pgsched_internal.placement;
  elsif replaces then  -- under another ordering key or in another queue it lives in another partition
    delete from pgsched.executions e where e.partition = there.partition and e.id = there.id;
    perform pgsched_internal.end_execution(there, 'cancelled', 'replaced');
  end if;
  if held.id is not null then
    perform pgsched_internal.give_key(client, key, new_id, home);
  end if;
  perform pgsched_internal.insert_waiting(new_id, fire_at, client, target, payload, options, key, ordering_key, home);
  return row(new_id, case when replaces then 'replaced' else 'created' end, fire_at, home)::pgsched_internal.placement;
end $$;
comment on function pgsched_internal.schedule_under(pgsched_internal.keys, uuid, smallint, text, jsonb, timestamptz, text, text, text, text, jsonb, text)
  is 'One execution under a key that is locked and has stood for something else before; called by schedule_keyed.';

-- A key that is new takes the short way: nothing can live under it, and nothing has succeeded under it lately.
create or replace function pgsched_internal.schedule_keyed(
  target text, payload jsonb, fire_at timestamptz, client text, key text, ordering_key text, queue text, options jsonb,
  on_conflict text
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
    perform pgsched_internal.insert_waiting(new_id, fire_at, client, target, payload, options, key, ordering_key, home);
    return row(new_id, 'created', fire_at, home)::pgsched_internal.placement;
  elsif held.id is not null and held.partition is null and pgsched_internal.is_live(held) then
    perform pgsched_internal.refuse_taken(held, 'give another key, or cancel the job');
  end if;
  return pgsched_internal.schedule_under(held, new_id, home, target, payload, fire_at, client, key, ordering_key, queue, options, on_conflict);
end $$;
comment on function pgsched_internal.schedule_keyed(text, jsonb, timestamptz, text, text, text, text, jsonb, text)
  is 'One execution under a key; called by pgsched.schedule_outcome.';

create or replace function pgsched_internal.job_under(client text, key text, on_conflict text) returns uuid
  language plpgsql volatile as $$
declare
  held pgsched_internal.keys;
begin
  select j.client_id, j.key, j.id into held.client_id, held.key, held.id from pgsched.jobs j
   where j.client_id = client and j.key = job_under.key and j.state <> 'cancelled';
  if held.id is not null and on_conflict = 'reject' then
    perform pgsched_internal.refuse_taken(held, 'give another key, or leave on_conflict out to edit the job');
  end if;
  return held.id;
end $$;
comment on function pgsched_internal.job_under(text, text, text)
  is 'The job that has a key, which is not locked; PS011 where that was to be refused.';

create or replace function pgsched_internal.schedule_job(
  target text, payload jsonb, cron text, every interval, timezone text, client text, key text, ordering_key text,
  queue text, options jsonb, on_conflict text, rules jsonb, labels jsonb, gap text, overlap text
) returns pgsched_internal.placement language plpgsql volatile as $$
#variable_conflict use_column
declare
  new_id constant uuid := pgsched.new_id();
  held pgsched_internal.keys;
  before pgsched.jobs;
  after pgsched.jobs;
  fires_anew boolean;
  found_id uuid;
  found_revision integer;
begin
  perform pgsched.partition_for(queue, client, key, ordering_key);
  if cron is not null then
    perform pgsched_internal.check_zone(coalesce(timezone, 'UTC'));
  elsif num_nonnulls(schedule_job.gap, schedule_job.overlap) > 0 and schedule_job.rules is null then
    perform pgsched_internal.refuse('PS002', 'gap and overlap go with cron', 'leave them out, or give cron =>');
  end if;
  if schedule_job.key is not null then
    if on_conflict <> 'replace' then  -- what is left as it is, is not locked, and its key neither
      found_id := pgsched_internal.job_under(client, schedule_job.key, on_conflict);
      if found_id is not null then
        return row(found_id, 'existing', null, null)::pgsched_internal.placement;
      end if;
    end if;
    held := pgsched_internal.lock_key(client, schedule_job.key, new_id, null);
    if held.partition is not null and pgsched_internal.is_live(held) then
      perform pgsched_internal.refuse_taken(held, 'give another key, or cancel the execution');
    end if;
  end if;
  if on_conflict = 'replace' then
    select * into before from pgsched.jobs j
     where j.client_id = client and j.key = schedule_job.key and j.state <> 'cancelled' for update;
    insert into pgsched.jobs as j (id, client_id, key, queue, ordering_key, target, payload, options, rules, labels, cron,
                                   timezone, every, gap, overlap)
    values (new_id, client, schedule_job.key, schedule_job.queue, schedule_job.ordering_key, schedule_job.target,
            schedule_job.payload, schedule_job.options, schedule_job.rules, schedule_job.labels, schedule_job.cron,
            coalesce(schedule_job.timezone, 'UTC'), schedule_job.every, coalesce(schedule_job.gap, 'shift'),
            coalesce(schedule_job.overlap, 'first'))
    on conflict (client_id, key) where key is not null and state <> 'cancelled' do update
      set queue = excluded.queue, ordering_key = excluded.ordering_key, target = excluded.target,
          payload = excluded.payload, options = excluded.options, rules = excluded.rules, labels = excluded.labels,
          cron = excluded.cron, timezone = excluded.timezone, every = excluded.every, gap = excluded.gap, overlap = excluded.overlap,
          revision = j.revision + 1, reason = null, updated_at = pgsched.now(),
          accounted_to = pgsched_internal.accounted_to(j, true), runs = case when j.state = 'finished' then 0 else j.runs end,
          state = case when j.state = 'paused' then j.state else 'active' end
    returning j.id, j.revision into found_id, found_revision;
  else
    insert into pgsched.jobs as j (id, client_id, key, queue, ordering_key, target, payload, options, rules, labels, cron,
                                   timezone, every, gap, overlap)
    values (new_id, client, schedule_job.key, schedule_job.queue, schedule_job.ordering_key, schedule_job.target,
            schedule_job.payload, schedule_job.options, schedule_job.rules, schedule_job.labels, schedule_job.cron,
            coalesce(schedule_job.timezone, 'UTC'), schedule_job.every, coalesce(schedule_job.gap, 'shift'),
            coalesce(schedule_job.overlap, 'first'))
    on conflict (client_id, key) where key is not null and state <> 'cancelled' do nothing
    returning j.id, j.revision into found_id, found_revision;
  end if;
  if found_revision > 1 then
    select * into after from pgsched.jobs j where j.id = found_id;
    fires_anew := before.state not in ('active', 'paused') or pgsched_internal.moves_instants(before, after);
    if not fires_anew and after.accounted_to <> pgsched_internal.accounted_to(before, false) then
      update pgsched.jobs j set accounted_to = pgsched_internal.accounted_to(before, false) where j.id = found_id;
    end if;
    if pgsched_internal.partition_of(before) <> pgsched_internal.partition_of(after) then
      perform pgsched_internal.note_move(before);
      perform pgsched_internal.withdraw(found_id);
    elsif before.state = 'active' and not fires_anew then
      perform pgsched_internal.bring_along(found_id);  -- what is due stays due, however often a deployment says the same again
    else
      perform pgsched_internal.withdraw(found_id);
    end if;
  elsif found_id is null then
    found_id := pgsched_internal.job_under(client, schedule_job.key, on_conflict);
  end if;
  if schedule_job.key is not null and held.id is distinct from found_id then
    perform pgsched_internal.give_key(client, schedule_job.key, found_id, null);
  end if;
  return row(found_id, case when found_revision = 1 then 'created' when found_revision > 1 then 'replaced' else 'existing' end, null, null)
    ::pgsched_internal.placement;
end $$;
comment on function pgsched_internal.schedule_job(text, jsonb, text, interval, text, text, text, text, text, jsonb, text, jsonb, jsonb, text, text)
  is 'A recurring job, new or edited; called by pgsched.schedule_outcome. A worker plans its first row.';
