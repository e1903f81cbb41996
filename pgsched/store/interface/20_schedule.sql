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

create or replace function pgsched.schedule(
  target text, payload jsonb default null, fire_at timestamptz default null, delay interval default null,
  cron text default null, every interval default null, timezone text default null, client text default 'default',
  key text default null, ordering_key text default null, queue text default 'default', options jsonb default null,
  on_conflict text default 'replace', rules jsonb default null, labels jsonb default null, after text[] default null,
  after_outcome text default 'success', gap text default null, overlap text default null
) returns uuid language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  told constant boolean := current_setting('pgsched.notify', true) is distinct from 'off';
  instant timestamptz;
  home smallint;
  new_id uuid;
begin
  perform pgsched_internal.check_acts_for(client);
  if num_nonnulls(schedule.fire_at, delay, cron, every) > 1 then
    perform pgsched_internal.refuse('PS002', 'fire_at, delay, cron and every exclude each other', 'give at most one of them; with none it fires now');
  elsif timezone is not null and cron is null and (every is null or rules is null) then
    perform pgsched_internal.refuse('PS002', 'timezone goes with cron', 'give fire_at with its own offset, such as ''2026-03-01 09:00+01''');
  elsif delay < interval '0' then
    perform pgsched_internal.refuse('PS002', 'the delay is negative', 'give delay => ''10 minutes'', or fire_at for an instant in the past');
  elsif schedule.target is null then
    perform pgsched_internal.check_target(schedule.target);
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
    return pgsched_internal.schedule_job(target, payload, cron, every, timezone, client, key, ordering_key, queue, options,
      on_conflict, rules, labels, gap, overlap);
  elsif num_nonnulls(rules, labels, gap, overlap) > 0 then
    perform pgsched_internal.refuse('PS002', 'rules, labels, gap and overlap go with cron or every', 'leave them out, or give cron => or every =>');
  end if;
  instant := coalesce(schedule.fire_at, pgsched.now() + coalesce(delay, interval '0'));
  if instant not between '0001-01-01 00:00+00' and '9999-12-31 00:00+00' then
    perform pgsched_internal.check_instant(instant);
  elsif cardinality(after) > 0 then
    return pgsched_internal.schedule_after(target, payload, case when num_nonnulls(schedule.fire_at, delay) > 0 then instant end,
      client, key, ordering_key, queue, options, on_conflict, after, after_outcome);
  elsif key is not null then
    return pgsched_internal.schedule_keyed(target, payload, instant, client, key, ordering_key, queue, options, on_conflict);
  end if;
  home := pgsched.partition_for(queue, client, null, schedule.ordering_key);
  if told then  -- the trigger would have to look through what the statement inserted for what is known here
    perform pgsched_internal.refuse_full(home & ~15) from pgsched.queues q where q.full_since is not null limit 1;
    perform set_config('pgsched.notify', 'told', true);
  end if;
  insert into pgsched.executions as e (fire_at, client_id, target, payload, options, ordering_key, partition)
  values (instant, client, schedule.target, schedule.payload, schedule.options, schedule.ordering_key, home)
  returning e.id into new_id;
  if told then
    perform set_config('pgsched.notify', 'on', true);
    if instant < pgsched.now() + interval '2 seconds' then
      perform pgsched_internal.notify_wake(home, instant);
    end if;
  end if;
  return new_id;
end $$;
comment on function pgsched.schedule(text, jsonb, timestamptz, interval, text, interval, text, text, text, text, text, jsonb, text, jsonb, jsonb, text[], text,
                                     text, text)
  is 'Schedules one execution (fire_at or delay; with neither, now) or a recurring job (cron or every); returns its id.
Scheduled again under the same client and key it replaces what still waits; what is running or finished less than
pgsched.key_retention (24 hours) ago answers with its id instead of firing twice. on_conflict says otherwise: keep what
there is, reject, or debounce, which moves what waits to the new instant. With after it waits until those executions,
named by id or key, have succeeded, or with after_outcome => ''any'' until they have ended.';

create or replace function pgsched_internal.give_up_key(execution_id uuid) returns void
  language sql volatile as $$
  update pgsched.executions e set key = null where e.id = give_up_key.execution_id and e.lease_token is not null
$$;
comment on function pgsched_internal.give_up_key(uuid)
  is 'Frees the key of an execution that is running, for the next one under it; called by pgsched.schedule.';

-- Insert first, look at history second: the unique index makes a settle of the same key finish before the insert
-- does, so the second statement's snapshot sees whatever that settle wrote. What has ended answers for its key for a
-- while, unless the caller debounces: that asks for a run after this moment.
create or replace function pgsched_internal.schedule_keyed(
  target text, payload jsonb, fire_at timestamptz, client text, key text, ordering_key text, queue text, options jsonb,
  on_conflict text, new_id uuid default pgsched.new_id()
) returns uuid language plpgsql volatile as $$
#variable_conflict use_column
declare
  home constant smallint := pgsched.partition_for(queue, client, key, ordering_key);
  moves constant boolean := on_conflict in ('replace', 'debounce');
  debounces constant boolean := on_conflict = 'debounce';
  found_id uuid;
  away smallint;
  elsewhere pgsched.executions;
begin
  for try in 1..3 loop
    if moves then
      insert into pgsched.executions as e (id, fire_at, client_id, target, payload, options, key, ordering_key, partition)
      values (new_id, schedule_keyed.fire_at, client, schedule_keyed.target, schedule_keyed.payload, schedule_keyed.options,
              schedule_keyed.key, schedule_keyed.ordering_key, home)
      on conflict (partition, client_id, key) where key is not null do update
        set fire_at = excluded.fire_at, scheduled_for = null, attempt = 0, gate = null, reason = null,
            target = case when debounces then e.target else excluded.target end,
            payload = case when debounces then e.payload else excluded.payload end,
            options = case when debounces then e.options else excluded.options end
        where e.lease_token is null
      returning e.id into found_id;
    else  -- what is left as it is, is not locked either: a claim or a settle would have to wait
      insert into pgsched.executions as e (id, fire_at, client_id, target, payload, options, key, ordering_key, partition)
      values (new_id, schedule_keyed.fire_at, client, schedule_keyed.target, schedule_keyed.payload, schedule_keyed.options,
              schedule_keyed.key, schedule_keyed.ordering_key, home)
      on conflict (partition, client_id, key) where key is not null do nothing
      returning e.id into found_id;
    end if;
    if found_id = new_id then
      select h.id into found_id from pgsched.history h
       where h.client_id = schedule_keyed.client and h.key = schedule_keyed.key and h.status <> 'cancelled'
         and h.finished_at > pgsched.now() - pgsched_internal.setting('key_retention', '24 hours')::interval and not debounces
       order by h.finished_at desc limit 1;
      if found_id is null then
        -- Under another ordering key or in another queue the same key lives in another partition.
        away := pgsched_internal.partition_with(client, schedule_keyed.key, home);
        if away is null then
          return new_id;
        end if;
        if moves then
          select * into elsewhere from pgsched.executions e
           where e.partition = away and e.client_id = client and e.key = schedule_keyed.key for update;
        else
          select * into elsewhere from pgsched.executions e
           where e.partition = away and e.client_id = client and e.key = schedule_keyed.key;
        end if;
        if not found then
          return new_id;
        elsif elsewhere.lease_token is null and moves then
          if debounces then
            update pgsched.executions e set target = elsewhere.target, payload = elsewhere.payload, options = elsewhere.options
             where e.partition = home and e.id = new_id;
          end if;
          delete from pgsched.executions e where e.partition = elsewhere.partition and e.id = elsewhere.id;
          perform pgsched_internal.finish_waiting(elsewhere, 'cancelled', 'replaced');
          return new_id;
        elsif debounces then
          perform pgsched_internal.give_up_key(elsewhere.id);
          return new_id;
        end if;
        found_id := elsewhere.id;
      end if;
      if on_conflict <> 'reject' then
        delete from pgsched.executions e where e.partition = home and e.id = new_id;
        return found_id;
      end if;
    elsif found_id is not null then
      if schedule_keyed.ordering_key is not null then
        perform pgsched_internal.notify_turns();
      end if;
      perform pgsched_internal.forget_dependencies(found_id) from pgsched.dependencies d where d.execution_id = found_id limit 1;
      perform pgsched_internal.notify_wake(home, schedule_keyed.fire_at);  -- the trigger sees inserted rows only
      return found_id;
    else
      select e.id into found_id from pgsched.executions e
       where e.partition = home and e.client_id = schedule_keyed.client and e.key = schedule_keyed.key;
    end if;
    if found_id is null then
      continue;  -- settled at this very moment
    elsif on_conflict = 'reject' then
      perform pgsched_internal.refuse('PS011', format('the key %L is taken by execution %s', key, found_id),
        'give another key, or leave on_conflict out to replace what waits');
    elsif debounces then
      perform pgsched_internal.give_up_key(found_id);
    else
      return found_id;
    end if;
  end loop;
  perform pgsched_internal.refuse('PS011', format('the key %L is being settled just now', key), 'schedule it again');
end $$;
comment on function pgsched_internal.schedule_keyed(text, jsonb, timestamptz, text, text, text, text, jsonb, text, uuid)
  is 'One execution under a key; called by pgsched.schedule.';

create or replace function pgsched_internal.schedule_job(
  target text, payload jsonb, cron text, every interval, timezone text, client text, key text, ordering_key text,
  queue text, options jsonb, on_conflict text, rules jsonb, labels jsonb, gap text, overlap text
) returns uuid language plpgsql volatile as $$
#variable_conflict use_column
declare
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
  if on_conflict = 'replace' then
    select * into before from pgsched.jobs j
     where j.client_id = client and j.key = schedule_job.key and j.state <> 'cancelled' for update;
    insert into pgsched.jobs as j (client_id, key, queue, ordering_key, target, payload, options, rules, labels, cron,
                                   timezone, every, gap, overlap)
    values (client, schedule_job.key, schedule_job.queue, schedule_job.ordering_key, schedule_job.target,
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
  else  -- what is left as it is, is not locked either: a claim of its rows would have to wait
    insert into pgsched.jobs as j (client_id, key, queue, ordering_key, target, payload, options, rules, labels, cron,
                                   timezone, every, gap, overlap)
    values (client, schedule_job.key, schedule_job.queue, schedule_job.ordering_key, schedule_job.target,
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
    if before.state = 'active' and not fires_anew and pgsched_internal.partition_of(before) = pgsched_internal.partition_of(after) then
      perform pgsched_internal.bring_along(found_id);  -- what is due stays due, however often a deployment says the same again
    else
      perform pgsched_internal.withdraw(found_id);
    end if;
  elsif found_id is null then
    select j.id into found_id from pgsched.jobs j
     where j.client_id = client and j.key = schedule_job.key and j.state <> 'cancelled';
    if found_id is null then
      perform pgsched_internal.refuse('PS011', format('the key %L is being cancelled just now', key), 'schedule it again');
    elsif on_conflict = 'reject' then
      perform pgsched_internal.refuse('PS011', format('the key %L is taken by job %s', key, found_id),
        'give another key, or leave on_conflict out to edit the job');
    end if;
  end if;
  return found_id;
end $$;
comment on function pgsched_internal.schedule_job(text, jsonb, text, interval, text, text, text, text, text, jsonb, text, jsonb, jsonb, text, text)
  is 'A recurring job, new or edited; called by pgsched.schedule. A worker plans its first row.';
