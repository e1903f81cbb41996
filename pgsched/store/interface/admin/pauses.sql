-- What all pauses share: which arguments a call needs, who may call it, and what the audit log records. The pause
-- of each kind of object is implemented in a separate file.

create or replace function pgsched_internal.check_pause(kind text, name text, client text) returns boolean
  language plpgsql immutable parallel safe as $$
begin
  if kind is null or kind not in ('job', 'client', 'queue', 'worker', 'target', 'ordering_key', 'installation') then
    return pgsched_internal.refuse('PS000', format('%L cannot be paused or resumed', left(kind, 100)),
      'write job, client, queue, worker, target, ordering_key or installation');
  elsif (name is null) <> (kind = 'installation') then
    return pgsched_internal.refuse('PS000', format(case when name is null then 'the name of the %s is missing' else 'the argument "name" cannot be given for the %s' end, kind),
      case when name is null then 'give name => ''payments''' else 'leave "name" out' end);
  elsif client is null and kind = 'ordering_key' or client is not null and kind not in ('job', 'target', 'ordering_key') then
    return pgsched_internal.refuse('PS000', format('the argument "client" %s', case when client is null then 'is missing' else 'can be given only with a job, a target or an ordering key' end),
      'give client => ''payments'' with the key of a job, with an ordering key, or with a target to pause for one client');
  elsif length(client) not between 1 and 100 then
    return pgsched_internal.refuse('PS000', 'the name of a client must be 1 to 100 characters', 'write client => ''payments''');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_pause(text, text, text)
  is 'True if the arguments name an object that can be paused or resumed; raises PS000 otherwise.';

-- A role that may change a client's settings may also pause the client. For jobs and ordering keys, the session must
-- act for their client; this is checked where they are looked up.
create or replace function pgsched_internal.check_may_pause(kind text, name text, client text) returns boolean language plpgsql stable as $$
declare
  setter constant text := case when kind in ('client', 'target') then 'pgsched.set_client(text, jsonb, text)' else 'pgsched.set_queue(text, jsonb, text)' end;
begin
  if kind in ('job', 'ordering_key') then
    return true;
  elsif not has_function_privilege(pgsched_internal.acting_role(), setter, 'EXECUTE') then
    return pgsched_internal.refuse('PS012', format('%I is not allowed to pause or resume this %s', pgsched_internal.acting_role(), kind), 'ask an operator');
  elsif kind = 'client' then
    return pgsched_internal.check_may_set(name);
  elsif kind = 'target' then
    return pgsched_internal.check_may_sideline(client);
  end if;
  return pgsched_internal.check_administers();
end $$;
comment on function pgsched_internal.check_may_pause(text, text, text)
  is 'True if the session may pause and resume what the arguments name; raises PS000 or PS012 otherwise.';

create or replace function pgsched_internal.check_until(kind text, until timestamptz) returns boolean language plpgsql stable as $$
begin
  if until <= pgsched.now() or until > '9999-12-31 00:00+00' and until <> 'infinity' then
    return pgsched_internal.refuse('PS000', '"until" must be in the future and before the year 10000',
      'write until => now() + interval ''10 minutes'', or leave it out');
  end if;
  return kind = 'target' or until is null
    or pgsched_internal.refuse('PS000', format('"until" can be given only with a target (got the kind %s)', kind), 'leave "until" out; the pause then lasts until pgsched.resume ends it');
end $$;
comment on function pgsched_internal.check_until(text, timestamptz)
  is 'True if an object of this kind can be paused until the given instant; raises PS000 otherwise.';

create or replace function pgsched_internal.set_paused(
  paused boolean, kind text, name text, client text, until timestamptz, note text, actor text
) returns boolean language plpgsql volatile as $$
declare
  subject uuid;
  named text := set_paused.name;
  whose text := set_paused.client;
  changed boolean;
begin
  case kind
    when 'job' then
      subject := pgsched_internal.job_named(set_paused.name, client);
      named := subject::text;
      changed := case when paused then pgsched_internal.pause_job(subject, note) else pgsched_internal.resume_job(subject) end;
    when 'client' then
      whose := set_paused.name;
      changed := pgsched_internal.set_client_paused(paused, set_paused.name, note);
    when 'queue' then
      changed := pgsched_internal.set_queue_paused(paused, set_paused.name, note);
    when 'worker' then
      changed := pgsched_internal.set_worker_paused(paused, set_paused.name, note);
    when 'target' then
      named := pgsched_internal.circuit_of(set_paused.name, client);
      changed := case when paused then pgsched_internal.shut_gate(named, coalesce(until, 'infinity'), note)
                      else pgsched_internal.restore_target(named, set_paused.name, client) end;
    when 'ordering_key' then
      named := client || '/' || set_paused.name;
      subject := pgsched_internal.unblock(paused, client, set_paused.name);
      changed := subject is not null;
    when 'installation' then
      named := kind;
      changed := pgsched_internal.set_installation_paused(paused, note);
  end case;
  if changed then
    perform pgsched_internal.write_log(case when paused then 'pause' else 'resume' end, subject, actor,
      jsonb_strip_nulls(jsonb_build_object('note', note, 'until', until)), kind, named,
      jsonb_build_object('state', case when paused then 'active' else 'paused' end),
      jsonb_build_object('state', case when paused then 'paused' else 'active' end), whose);
  end if;
  return changed;
end $$;
comment on function pgsched_internal.set_paused(boolean, text, text, text, timestamptz, text, text)
  is 'Pauses or resumes what the arguments name, and records the change in the audit log; false if nothing changed. Does
not check the caller''s rights.';

create or replace function pgsched.pause(
  kind text, name text default null, client text default null, until timestamptz default null, note text default null, actor text default null
) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
begin
  perform pgsched_internal.check_said(pause.note, pause.actor);
  perform pgsched_internal.check_pause(pause.kind, pause.name, pause.client);
  perform pgsched_internal.check_until(pause.kind, pause.until);
  perform pgsched_internal.check_may_pause(pause.kind, pause.name, pause.client);
  return pgsched_internal.set_paused(true, pause.kind, pause.name, pause.client, pause.until, pause.note, pause.actor);
end $$;
comment on function pgsched.pause(text, text, text, timestamptz, text, text)
  is 'Pauses a job, a client, a queue, a worker, a target or the whole installation, so that no further executions begin
until it is resumed. Running executions continue. False if it was already paused. Raises PS000 for invalid values, PS010
if it does not exist, PS011 for a job that cannot be paused, and PS012 if the session may not do this.';

create or replace function pgsched.resume(
  kind text, name text default null, client text default null, note text default null, actor text default null
) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
begin
  perform pgsched_internal.check_said(resume.note, resume.actor);
  perform pgsched_internal.check_pause(resume.kind, resume.name, resume.client);
  perform pgsched_internal.check_may_pause(resume.kind, resume.name, resume.client);
  return pgsched_internal.set_paused(false, resume.kind, resume.name, resume.client, null, resume.note, resume.actor);
end $$;
comment on function pgsched.resume(text, text, text, text, text)
  is 'Resumes whatever pgsched.pause has paused, an ordering key that a failure has blocked, a target that is sidelined
because it failed, or an invalid job. False if it was not paused.';
