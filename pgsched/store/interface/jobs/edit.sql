-- Edits of a job. Changes are given as JSON, with members named like the columns; other fields stay the same.

create or replace function pgsched_internal.check_changes(changes jsonb) returns boolean
  language plpgsql immutable parallel safe as $$
declare
  known constant text[] := array['target', 'payload', 'options', 'rules', 'labels', 'queue', 'ordering_key', 'cron', 'every',
    'timezone', 'gap', 'overlap', 'anchor', 'declared_by'];
  texts constant text[] := array['target', 'queue', 'ordering_key', 'cron', 'timezone', 'gap', 'overlap', 'declared_by'];
  wrong text;
begin
  perform pgsched_internal.check_length(changes, 'the changes are', 2097152);
  if jsonb_typeof(changes) is distinct from 'object' then
    return pgsched_internal.refuse('PS000', 'changes must be a JSON object', 'write changes => ''{"cron": "0 9 * * *"}''');
  end if;
  select min(name) into wrong from jsonb_object_keys(changes) as name where name <> all (known);
  if wrong in ('client', 'client_id', 'key', 'id') then
    return pgsched_internal.refuse('PS000', format('the %s of a job cannot be changed', wrong), 'schedule another job, and cancel this one');
  elsif wrong is not null then
    return pgsched_internal.refuse('PS000', format('a job has no field %L that can be changed', wrong), format('the fields that can be changed are %s', array_to_string(known, ', ')));
  end if;
  select min(c.key) into wrong from jsonb_each(changes) c
   where c.key = any (texts) and jsonb_typeof(c.value) not in ('string', 'null') or c.key in ('target', 'queue') and c.value = 'null';
  if wrong is not null then
    return pgsched_internal.refuse('PS000', format('"%s" cannot be %s', wrong, left((changes -> wrong)::text, 100)), 'write a string, in quotes');
  elsif changes ->> 'cron' is not null and changes ->> 'every' is not null then
    return pgsched_internal.refuse('PS002', '"cron" and "every" cannot be combined', 'give one of them; it replaces the other');
  elsif changes ->> 'every' is not null and not pgsched_internal.is_duration(changes -> 'every', '1 s', '3653 days') then
    return pgsched_internal.refuse('PS002', format('"every" cannot be %s', left((changes -> 'every')::text, 100)),
      'write a duration from 1 s to 3653 days, such as "15m" or "PT15M"');
  elsif changes ->> 'anchor' is not null and not pgsched_internal.is_instant(changes -> 'anchor') then
    return pgsched_internal.refuse('PS002', format('"anchor" cannot be %s', left((changes -> 'anchor')::text, 100)),
      'write an instant with an offset, such as "2026-03-01T09:00:00Z"');
  elsif length(changes ->> 'declared_by') not between 1 and 200 then
    return pgsched_internal.refuse('PS000', 'declared_by must be text of 1 to 200 characters', 'write a name such as "shop.handlers:app", or null');
  elsif changes ->> 'gap' not in ('shift', 'skip') or changes ->> 'overlap' not in ('first', 'second', 'both') then
    return pgsched_internal.refuse('PS002', '"gap" or "overlap" is not valid', 'write shift or skip for "gap", and first, second or both for "overlap"');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_changes(jsonb)
  is 'True for changes that pgsched.edit can apply to a job; raises PS000 or PS002 with a hint otherwise.';

-- cron replaces every, and every replaces cron. A null restores the default, if there is one. A payload, options, rules
-- or labels are replaced as a whole.
create or replace function pgsched_internal.edited(job pgsched.jobs, changes jsonb) returns pgsched.jobs
  language plpgsql stable as $$
declare
  given jsonb := changes;
  after pgsched.jobs;
begin
  perform pgsched_internal.check_changes(changes);
  if job.state = 'cancelled' then
    perform pgsched_internal.refuse('PS011', format('job %s is cancelled', job.id), 'schedule it again');
  end if;
  if given ->> 'cron' is not null then
    given := given || '{"every": null}';
  elsif given ->> 'every' is not null then
    given := given || '{"cron": null}';
  end if;
  after := jsonb_populate_record(job, pgsched_internal.with_defaults(given,
    jsonb_build_object('timezone', 'UTC', 'gap', 'shift', 'overlap', 'first', 'anchor', pgsched.now())));
  if num_nonnulls(after.cron, after.every) <> 1 then
    perform pgsched_internal.refuse('PS002', 'a job needs either "cron" or "every"', 'give "cron" to replace "every", or "every" to replace "cron"');
  elsif after.cron is null and num_nonnulls(changes ->> 'gap', changes ->> 'overlap') > 0 then
    perform pgsched_internal.refuse('PS002', '"gap" and "overlap" need "cron"', 'leave them out, or give "cron"');
  end if;
  if changes ->> 'anchor' is not null and after.every is null then
    perform pgsched_internal.refuse('PS002', '"anchor" needs "every"', 'leave "anchor" out, or set "every" as well');
  elsif changes ->> 'anchor' is not null and after.rules ? 'anchor' then
    perform pgsched_internal.refuse('PS002', 'the rules already have an anchor', 'change the anchor in the rules');
  end if;
  if after.timezone <> job.timezone then
    perform pgsched_internal.check_zone(after.timezone);
  end if;
  if (after.queue, after.ordering_key) is distinct from (job.queue, job.ordering_key) then
    perform pgsched.partition_for(after.queue, after.client_id, after.key, after.ordering_key);
  end if;
  if (after.queue, after.target) is distinct from (job.queue, job.target) then
    perform pgsched_internal.check_pulled(after.target, after.queue);
  end if;
  return after;
end $$;
comment on function pgsched_internal.edited(pgsched.jobs, jsonb)
  is 'The job as it would be after pgsched.edit. Writes nothing.';

create or replace function pgsched_internal.moves_instants(before pgsched.jobs, after pgsched.jobs) returns boolean
  language sql stable parallel safe as $$
  select (before.cron, before.every, before.timezone, before.gap, before.overlap, before.anchor)
           is distinct from (after.cron, after.every, after.timezone, after.gap, after.overlap, after.anchor)
      or coalesce(before.rules, '{}') - array['on_overlap', 'on_missed', 'catch_up', 'pause_after', 'delete_after', 'after']
           <> coalesce(after.rules, '{}') - array['on_overlap', 'on_missed', 'catch_up', 'pause_after', 'delete_after', 'after']
$$;
comment on function pgsched_internal.moves_instants(pgsched.jobs, pgsched.jobs)
  is 'True if an edit changes when the job fires.';

-- An edit of a declared job would be undone the next time the declaration is applied. declared_by itself is not part of
-- the definition.
create or replace function pgsched_internal.refuse_declared(job pgsched.jobs, hint text) returns void
  language plpgsql volatile as $$
begin
  if job.declared_by is not null then
    perform pgsched_internal.refuse('PS011', format('job %s is declared by %L', job.id, job.declared_by), refuse_declared.hint);
  end if;
end $$;
comment on function pgsched_internal.refuse_declared(pgsched.jobs, text)
  is 'Raises PS011 if a job is part of a declaration.';

create or replace function pgsched_internal.edit_job(job_id uuid, changes jsonb, note text, actor text, force boolean) returns boolean
  language plpgsql volatile as $$
declare
  before constant pgsched.jobs := pgsched_internal.lock_job(edit_job.job_id);
  after pgsched.jobs;
  changed text[];
  fires_anew boolean;
  defines boolean;
  comes_back boolean;
begin
  after := pgsched_internal.edited(before, edit_job.changes);
  changed := array(select b.key from jsonb_each(to_jsonb(before)) b where b.value is distinct from to_jsonb(after) -> b.key order by b.key);
  if changed = '{}' then
    return false;
  elsif changed <> array['declared_by'] and edit_job.force is not true then
    perform pgsched_internal.refuse_declared(before, 'change the declaration and apply it, or give force => true to change the job until the declaration is applied again');
  end if;
  fires_anew := pgsched_internal.moves_instants(before, after);
  defines := not changed <@ array['labels', 'declared_by'];
  comes_back := changed <> array['declared_by'] and before.state = 'invalid' or before.state = 'finished' and fires_anew;
  update pgsched.jobs j
     set target = after.target, payload = after.payload, options = after.options, rules = after.rules, labels = after.labels,
         queue = after.queue, ordering_key = after.ordering_key, cron = after.cron, every = after.every, timezone = after.timezone,
         gap = after.gap, overlap = after.overlap, anchor = after.anchor, declared_by = after.declared_by, updated_at = pgsched.now(),
         revision = j.revision + (comes_back or defines)::int,
         accounted_to = pgsched_internal.accounted_to(j, fires_anew),
         state = case when comes_back then 'active' else j.state end,
         reason = case when comes_back then null else j.reason end,
         runs = case when comes_back and j.state = 'finished' then 0 else j.runs end
   where j.id = edit_job.job_id;
  if comes_back or defines then
    perform pgsched_internal.follow_edit(before, after, 'edited', fires_anew or comes_back, keeps => not comes_back);
  end if;
  perform pgsched_internal.write_log('edit', edit_job.job_id, edit_job.actor,
    jsonb_strip_nulls(jsonb_build_object('changed', changed, 'note', edit_job.note)), 'job');
  return true;
end $$;
comment on function pgsched_internal.edit_job(uuid, jsonb, text, text, boolean)
  is 'Changes the given fields of a job, and its waiting row. Running executions continue unchanged. An invalid job
becomes active, and so does a finished job if its schedule was changed. Called by pgsched.edit.';

create or replace function pgsched_internal.follow_edit(
  before pgsched.jobs, after pgsched.jobs, reason text, fires_anew boolean, keeps boolean
) returns void language plpgsql volatile as $$
declare
  moves constant boolean := pgsched_internal.partition_of(before) <> pgsched_internal.partition_of(after);
begin
  perform pgsched_internal.note_move(before) where moves;
  if moves or fires_anew then
    perform pgsched_internal.withdraw(after.id, reason, keeps => follow_edit.keeps);
  else
    -- Due rows stay due, however often a deployment declares the same job again
    perform pgsched_internal.bring_along(after.id);
  end if;
end $$;
comment on function pgsched_internal.follow_edit(pgsched.jobs, pgsched.jobs, text, boolean, boolean)
  is 'Adapts the waiting rows of a job after its definition was edited or replaced. The rows keep their instants, unless
the schedule or the partition of the job has changed.';

-- Updates the job's planned row to the new revision. If a worker is claiming that row, leaves it alone: a planner
-- continues from the claimed row.
create or replace function pgsched_internal.bring_along(job_id uuid) returns void
  language plpgsql volatile as $$
declare
  job pgsched.jobs;
  home smallint;
begin
  perform pgsched_internal.follow_unbegun(j, 'edited') from pgsched.jobs j where j.id = bring_along.job_id;
  select * into job from pgsched.jobs j
   where j.id = bring_along.job_id and j.state = 'active' and j.planned_revision = j.revision - 1 for update;
  if not found then
    return;
  end if;
  home := pgsched_internal.partition_of(job);
  update pgsched.executions e
     set target = job.target, payload = job.payload, options = job.options, ordering_key = job.ordering_key, plan = job.revision
   where e.partition = home and e.id = any (array(
           select w.id from pgsched.executions w
            where w.partition = home and w.job_id = job.id and w.plan = job.planned_revision and w.attempt = 0 and w.lease_token is null
              for update skip locked));
  if found then
    update pgsched.jobs j set planned_revision = j.revision where j.id = job.id;
  else
    perform pgsched_internal.account_from_claimed(job.id, job.planned_revision);
  end if;
  perform pgsched_internal.tell_of_change(job.id);
end $$;
comment on function pgsched_internal.bring_along(uuid)
  is 'Adapts the waiting rows of an edited job without changing their instants; called by follow_edit.';
