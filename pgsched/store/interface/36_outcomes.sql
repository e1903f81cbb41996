-- What the end of an execution brings about: those that waited for it are released or skipped, and a target is told.

-- The end of one of those that an execution waits for was noted: it may fire now, or never will, or waits on.
create or replace function pgsched.decide_dependent(waiting pgsched.executions) returns boolean language plpgsql volatile as $$
declare
  still_open boolean;
  earliest timestamptz;
  failed record;
begin
  select bool_or(d.status is null), max(d.finished_at + coalesce(d.delay, interval '0')) into still_open, earliest
    from pgsched.dependencies d where d.execution_id = waiting.id;
  select d.after_id, d.status into failed from pgsched.dependencies d
   where d.execution_id = waiting.id and d.outcome = 'success' and d.status <> 'succeeded' limit 1;
  if failed.after_id is not null then
    delete from pgsched.executions e where e.partition = waiting.partition and e.id = waiting.id;
    waiting.scheduled_for := coalesce(waiting.scheduled_for, pgsched.now());
    waiting.fire_at := waiting.scheduled_for;
    perform pgsched.finish_waiting(waiting, 'skipped', format('execution %s it waited for %s%s', failed.after_id,
      case when failed.status in ('cancelled', 'skipped') then 'was ' else '' end, failed.status));
  elsif still_open then
    return false;
  else
    earliest := greatest(waiting.scheduled_for, earliest, pgsched.now());
    update pgsched.executions e set fire_at = earliest, scheduled_for = coalesce(e.scheduled_for, earliest)
     where e.partition = waiting.partition and e.id = waiting.id;
    perform pgsched.notify_wake(waiting.partition, earliest);
  end if;
  delete from pgsched.dependencies d where d.execution_id = waiting.id;
  return true;
end $$;
comment on function pgsched.decide_dependent(pgsched.executions)
  is 'Releases or skips a held execution once what it waits for allows that; true if so. Called with the row locked.';

-- Passes over a row that waits and that somebody has locked just now: its dependency stays open, for a later turn.
create or replace function pgsched.note_end(after_id uuid, status pgsched.execution_status, finished_at timestamptz)
  returns integer language plpgsql volatile as $$
declare
  waiting pgsched.executions;
  decided integer := 0;
begin
  for waiting in
    select * from pgsched.executions e
     where e.id = any (array(select d.execution_id from pgsched.dependencies d
                              where d.after_id = note_end.after_id and d.status is null))
       and e.fire_at = 'infinity' and e.lease_token is null
     order by e.id for update skip locked
  loop
    update pgsched.dependencies d set status = note_end.status, finished_at = note_end.finished_at
     where d.execution_id = waiting.id and d.after_id = note_end.after_id;
    decided := decided + pgsched.decide_dependent(waiting)::integer;
  end loop;
  delete from pgsched.dependencies d
   where d.after_id = note_end.after_id and not exists (select from pgsched.executions e
     where e.id = d.execution_id and e.fire_at = 'infinity' and e.lease_token is null);
  return decided;
end $$;
comment on function pgsched.note_end(uuid, pgsched.execution_status, timestamptz)
  is 'Notes the end of an execution with all that wait for it; returns how many were released or skipped for that.';

-- Two that end in two transactions at the same moment: each note locks the row that waits before it looks at what that
-- still waits for, in a later statement, so the second of them sees the first. Index: history_awaited.
create or replace function pgsched.release_dependents(most integer, out noted integer, out decided integer)
  language plpgsql volatile as $$
declare
  ended record;
  all_noted boolean;
begin
  noted := 0;
  decided := 0;
  perform set_config('pgsched.notify', 'on', true);  -- workers' sessions are silent, and these rows are anybody's
  for ended in
    select h.id, h.status, h.finished_at from pgsched.history h where h.awaited limit most for update skip locked
  loop
    decided := decided + pgsched.note_end(ended.id, ended.status, ended.finished_at);
    update pgsched.history h set awaited = false
     where h.id = ended.id and h.finished_at = ended.finished_at and h.awaited
       and not exists (select from pgsched.dependencies d where d.after_id = ended.id and d.status is null)
    returning true into all_noted;
    noted := noted + coalesce(all_noted, false)::integer;
  end loop;
end $$;
comment on function pgsched.release_dependents(integer)
  is 'Releases or skips the executions that waited for those that have ended. Looks at so many ends; returns how many were
noted with all that wait for them, and how many executions were decided by that.';

-- What was deleted by hand, or taken back before its instant, leaves nothing in history that would be found.
create or replace function pgsched.release_abandoned(most integer) returns integer language plpgsql volatile as $$
declare
  gone uuid;
  decided integer := 0;
begin
  perform set_config('pgsched.notify', 'on', true);
  for gone in
    select distinct d.after_id from pgsched.dependencies d
     where d.status is null and not exists (select from pgsched.executions e where e.id = d.after_id)
       and not exists (select from pgsched.history h where h.id = d.after_id) limit most
  loop
    decided := decided + pgsched.note_end(gone, 'cancelled', pgsched.now());
  end loop;
  return decided;
end $$;
comment on function pgsched.release_abandoned(integer)
  is 'The same for those that wait for an execution that is nowhere any more: it counts as cancelled.';

create or replace function pgsched.tell_outcome(
  id uuid, job_id uuid, client_id text, key text, target text, options jsonb, partition smallint, scheduled_for timestamptz,
  attempt smallint, status pgsched.execution_status, status_code smallint, result jsonb, reason text
) returns uuid language plpgsql volatile as $$
declare
  told constant text := options ->> case status when 'succeeded' then 'on_success' when 'failed' then 'on_failure'
                                                when 'expired' then 'on_expired' end;
  before constant text := coalesce(nullif(current_setting('pgsched.notify', true), ''), 'on');
  new_id uuid;
begin
  if told is null then
    return null;
  end if;
  perform set_config('pgsched.notify', 'on', true);  -- a settling session is silent
  insert into pgsched.executions as e (fire_at, client_id, target, partition, payload)
  values (pgsched.now(), tell_outcome.client_id, told, (tell_outcome.partition & ~15) + floor(random() * 16)::smallint,
    jsonb_build_object('execution', id, 'job', job_id, 'client', client_id, 'key', key, 'target', target, 'status', status,
        'scheduled_for', scheduled_for, 'finished_at', pgsched.now(), 'attempt', attempt, 'status_code', status_code, 'reason', reason)
      || case when coalesce(pg_column_size(result), 0) <= 524288 then jsonb_build_object('result', result) else '{}' end)
  returning e.id into new_id;
  perform set_config('pgsched.notify', before, true);
  return new_id;
end $$;
comment on function pgsched.tell_outcome(uuid, uuid, text, text, text, jsonb, smallint, timestamptz, smallint,
                                         pgsched.execution_status, smallint, jsonb, text)
  is 'Schedules the execution that tells of another''s end, in the transaction that settles it; its id, or null where the
options name no target for this outcome.';
