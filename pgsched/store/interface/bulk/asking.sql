-- Bulk operations count the objects that a filter names, and change them at a given rate. A request becomes a row of
-- pgsched.bulk_operations, which workers carry out (changing.sql). Jobs are changed at once, in the caller's
-- transaction, because a pause must not begin late. These functions check the role that the session acts as, and run
-- with their owner's rights, because no client may write the progress of an operation.

create or replace function pgsched_internal.check_bulk(
  action text, filter jsonb, rate double precision, target text, fire_at timestamptz, shift interval
) returns boolean language plpgsql stable as $$
begin
  if action is null or action not in ('cancel', 'reschedule', 'replay', 'discard', 'backfill', 'pause', 'resume', 'cancel_jobs') then
    return pgsched_internal.refuse('PS000', format('the action cannot be %s', coalesce(left(action, 100), 'null')),
      'write cancel, reschedule, replay, discard, backfill, pause, resume or cancel_jobs');
  end if;
  perform pgsched_internal.check_bulk_filter(action, filter);
  if rate is not null and action in ('pause', 'resume', 'cancel_jobs') then
    return pgsched_internal.refuse('PS002', format('%s takes no rate, because it is done at once', action), 'leave the rate out');
  elsif not (rate > 0 and rate <= 100000) then
    return pgsched_internal.refuse('PS002', format('rate cannot be %s', rate), 'write a number per second above 0, up to 100000, such as 10');
  elsif target is not null and action <> 'replay' then
    return pgsched_internal.refuse('PS000', format('%s takes no target', action), 'leave "target" out; only replay takes it');
  elsif num_nonnulls(fire_at, shift) > 0 and action <> 'reschedule' then
    return pgsched_internal.refuse('PS000', format('%s takes neither fire_at nor shift', action), 'leave them out; only reschedule takes them');
  elsif num_nonnulls(fire_at, shift) <> 1 and action = 'reschedule' then
    return pgsched_internal.refuse('PS002', 'reschedule needs fire_at or shift', 'give fire_at, the new instant of all executions, or shift => ''1 hour'', which moves each execution');
  elsif shift not between interval '-3653 days' and interval '3653 days' then
    return pgsched_internal.refuse('PS002', '"shift" must be at most 3653 days, in either direction', 'to move executions farther, give fire_at');
  end if;
  return (target is null or pgsched_internal.check_target(target)) and (fire_at is null or pgsched_internal.check_instant(fire_at));
end $$;
comment on function pgsched_internal.check_bulk(text, jsonb, double precision, text, timestamptz, interval)
  is 'True for a valid request for a bulk operation; raises PS000, PS001 or PS002 with a hint otherwise.';

-- Locks the jobs one by one, in the order of their ids, and skips a job whose state has changed in the meantime.
create or replace function pgsched_internal.change_jobs(action text, filter jsonb, clients text[], note text, actor text) returns integer
  language plpgsql volatile as $$
declare
  job record;
  changed boolean;
  done integer := 0;
begin
  for job in select n.id, n.state from pgsched_internal.jobs_named(action, filter, clients) n loop
    perform from pgsched.jobs j where j.id = job.id and j.state = job.state for update;
    continue when not found;
    changed := case action when 'cancel_jobs' then pgsched.cancel(job.id, note => change_jobs.note, actor => change_jobs.actor)
                           else pgsched_internal.set_paused(action = 'pause', 'job', job.id::text, null, null, note, actor) end;
    done := done + changed::int;
  end loop;
  return done;
end $$;
comment on function pgsched_internal.change_jobs(text, jsonb, text[], text, text)
  is 'Pauses, resumes or cancels the jobs that a filter names. Returns how many it changed.';

create or replace function pgsched.bulk(
  action text, filter jsonb, rate double precision default null, target text default null, fire_at timestamptz default null,
  shift interval default null, dry_run boolean default false, within interval default '5 seconds', note text default null,
  actor text default null, out id uuid, out matched bigint, out complete boolean
) language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  whose text[] := pgsched_internal.clients_acted_for();
  at_once constant boolean := coalesce(action in ('pause', 'resume', 'cancel_jobs'), false);
  asked pgsched.bulk_operations;
begin
  perform pgsched_internal.check_said(bulk.note, bulk.actor);
  perform pgsched_internal.check_bulk(action, filter, rate, bulk.target, bulk.fire_at, shift);
  if filter ? 'client' and not pgsched_internal.acts_for(filter ->> 'client') then
    perform pgsched_internal.refuse('PS012', format('%I is not allowed to use %s on client %L', pgsched_internal.acting_role(), action, filter ->> 'client'),
      'use SET ROLE to switch to a role that belongs to that client');
  elsif action = 'backfill' then
    whose := array[pgsched_internal.check_backfill(filter, not dry_run)];
  elsif whose = '{}' then
    perform pgsched_internal.refuse('PS012', format('%I acts for no client', pgsched_internal.acting_role()),
      'use SET ROLE to switch to the database_role of a client');
  end if;
  select c.* into matched, complete from pgsched_internal.count_named(action, filter, whose, within) c;
  if dry_run then
    return;
  elsif action <> 'backfill' and not at_once and (select count(*) from pgsched.bulk_operations b
      where b.state = 'active' and b.action <> 'backfill' and b.clients is not distinct from whose) >= 100 then
    perform pgsched_internal.refuse('PS011', 'a hundred bulk operations are active, which is the maximum', 'wait until one has finished, or stop one with pgsched.stop_bulk');
  end if;
  if at_once then
    asked.done := pgsched_internal.change_jobs(action, filter, whose, bulk.note, bulk.actor);
  end if;
  insert into pgsched.bulk_operations as b (action, clients, filter, target, fire_at, shift, note, rate, state, total, done, actor)
  values (bulk.action, whose, case when action = 'backfill' then filter || jsonb_build_object('job', (filter ->> 'job')::uuid) else filter end, bulk.target, bulk.fire_at, bulk.shift, bulk.note,
          case when not at_once then coalesce(rate, case when action in ('replay', 'backfill') then 10 else 1000 end) end,
          case when at_once then 'finished' else 'active' end, case when complete then matched end, coalesce(asked.done, 0),
          coalesce(bulk.actor, pgsched_internal.acting_role()))
  returning b.* into asked;
  perform pgsched_internal.notify_workers('bulk') where not at_once;
  perform pgsched_internal.write_log('bulk ' || action, coalesce((case when action = 'backfill' then filter ->> 'job' end)::uuid, asked.id), bulk.actor, jsonb_strip_nulls(jsonb_build_object(
    'filter', filter, 'fire_at', bulk.fire_at, 'shift', shift, 'rate', asked.rate, 'target', bulk.target, 'note', bulk.note)), 'bulk operation', asked.id::text);
  id := asked.id;
end $$;
comment on function pgsched.bulk(text, jsonb, double precision, text, timestamptz, interval, boolean, interval, text, text)
  is 'Starts a bulk operation on everything that a filter names. Workers cancel, reschedule, replay or discard these
objects; for a backfill, workers run the instants of a job that have not succeeded. rate is the maximum number a second.
The actions pause, resume and cancel_jobs change jobs at once. Returns the id of the row in pgsched.bulk_operations that
shows the progress, the number of objects that the filter names, and whether the count was completed within the time
limit. The instants of a backfill are counted only by workers. A dry run only counts, and returns no id. Raises PS000,
PS001 or PS002 for invalid values, PS010 for an unknown job, PS011 if a hundred operations are active or the job allows
no backfill, and PS012 for another client.';

create or replace function pgsched.stop_bulk(id uuid, actor text default null) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  asked pgsched.bulk_operations;
  whose constant text[] := pgsched_internal.clients_acted_for();
begin
  perform pgsched_internal.check_said(null, stop_bulk.actor);
  select b.* into asked from pgsched.bulk_operations b
   where b.id = stop_bulk.id and (whose is null or coalesce(b.clients <@ whose, false)) for update;
  if not found then
    perform pgsched_internal.refuse('PS010', format('there is no bulk operation %s', stop_bulk.id), 'the ids are in pgsched.bulk_operations');
  elsif asked.state <> 'active' then
    return false;
  end if;
  update pgsched.bulk_operations b set state = 'stopped', updated_at = pgsched.now() where b.id = asked.id;
  delete from pgsched_internal.rows_to_come_back_to r where r.operation_id = asked.id;
  if asked.action = 'backfill' then
    perform pgsched_internal.cancel_backfilled(asked);
  end if;
  perform pgsched_internal.write_log('stop bulk', coalesce((case when asked.action = 'backfill' then asked.filter ->> 'job' end)::uuid, asked.id),
    stop_bulk.actor, null, 'bulk operation', asked.id::text);
  return true;
end $$;
comment on function pgsched.stop_bulk(uuid, text)
  is 'Stops a bulk operation. Anything that it has not reached stays unchanged, and waiting executions that a backfill
has planned are cancelled. False if it had already ended. Raises PS010 for an unknown id.';
