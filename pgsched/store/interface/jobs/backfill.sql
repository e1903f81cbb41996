-- Running a range of instants of a job that have passed. Both verbs run with their owner's rights, since no client may
-- write a backfill's progress or the audit log, and judge by the role that the session acts as.

create or replace function pgsched_internal.check_backfill(job_id uuid, starts_at timestamptz, ends_at timestamptz, rate double precision default 10)
  returns boolean language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  job pgsched.jobs;
begin
  select * into job from pgsched.jobs j where j.id = check_backfill.job_id;
  if not found or not pgsched_internal.acts_for(job.client_id) then
    perform pgsched_internal.refuse('PS010', format('there is no job %s', check_backfill.job_id), 'look it up in pgsched.jobs');
  elsif job.state in ('cancelled', 'invalid') then
    perform pgsched_internal.refuse('PS011', format('job %s is %s', job.id, job.state), 'schedule it again');
  elsif coalesce((job.rules ->> 'after_completion')::boolean, false) then
    perform pgsched_internal.refuse('PS011', format('job %s counts from the end of each run and has no instants of its own', job.id),
      'trigger it instead');
  elsif starts_at is null or ends_at is null or not isfinite(starts_at) or not isfinite(ends_at) or starts_at >= ends_at then
    perform pgsched_internal.refuse('PS002', 'a backfill must end after it starts', 'give the range as the earlier instant and the later one');
  elsif starts_at < '1970-01-01 00:00+00' then
    perform pgsched_internal.refuse('PS002', 'a backfill cannot start before 1970', 'give a later start');
  elsif ends_at > pgsched.now() then
    perform pgsched_internal.refuse('PS002', 'a backfill cannot end in the future', 'end it at now() or before: what is to come is planned anyway');
  elsif starts_at < ends_at - interval '3653 days' then
    perform pgsched_internal.refuse('PS002', 'a backfill is of at most 3653 days', 'give a shorter range, and the rest when it is done');
  elsif rate is null or not (rate > 0 and rate <= 100000) then
    perform pgsched_internal.refuse('PS002', format('rate cannot be %s', rate), 'write how many rows a second, from above 0 to 100000, such as 10');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_backfill(uuid, timestamptz, timestamptz, double precision)
  is 'True for a range of a job that can be backfilled; raises PS002, PS010 or PS011 as pgsched.backfill does.';

create or replace function pgsched.backfill(
  job_id uuid, starts_at timestamptz, ends_at timestamptz, rate double precision default 10, actor text default null
) returns uuid language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  other uuid;
  new_id uuid;
begin
  perform pgsched_internal.check_said(null, backfill.actor);
  perform from pgsched.jobs j
    where j.id = backfill.job_id and j.client_id = pgsched_internal.owner_of_job(backfill.job_id) for no key update;
  perform pgsched_internal.check_backfill(backfill.job_id, backfill.starts_at, backfill.ends_at, backfill.rate);
  select b.id into other from pgsched.backfills b
   where b.job_id = backfill.job_id and b.state = 'active' and b.starts_at < backfill.ends_at and b.ends_at > backfill.starts_at;
  if found then
    perform pgsched_internal.refuse('PS011', format('backfill %s of this job has a part of the range in hand', other),
      'wait until it has finished, or cancel it');
  end if;
  insert into pgsched.backfills as b (job_id, starts_at, ends_at, rate)
  values (backfill.job_id, backfill.starts_at, backfill.ends_at, backfill.rate) returning b.id into new_id;
  perform pgsched_internal.write_log('backfill', backfill.job_id, backfill.actor,
    jsonb_build_object('backfill', new_id, 'from', backfill.starts_at, 'to', backfill.ends_at, 'rate', backfill.rate),
    'backfill', new_id::text);
  perform pgsched_internal.notify_workers('backfill');
  return new_id;
end $$;
comment on function pgsched.backfill(uuid, timestamptz, timestamptz, double precision, text)
  is 'Runs those instants of a job from starts_at to before ends_at that have not succeeded and have no row, at most rate
of them a second; also while the job is paused or finished. Returns the backfill''s id.';

create or replace function pgsched_internal.lock_backfilled(
  partition smallint, job_id uuid, starts_at timestamptz, ends_at timestamptz
) returns setof pgsched.executions language plpgsql volatile as $$
begin
  return query execute format('select e.* from %s e.job_id = $1 and e.plan = 0'
    ' and (e.lease_token is null or pgsched_internal.is_ahead(e::pgsched.executions)) and e.scheduled_for >= $2 and e.scheduled_for < $3 for update skip locked', pgsched_internal.in_partition(lock_backfilled.partition))
    using lock_backfilled.job_id, lock_backfilled.starts_at, lock_backfilled.ends_at;
end $$;
comment on function pgsched_internal.lock_backfilled(smallint, uuid, timestamptz, timestamptz)
  is 'Locks the rows of a backfill that wait in a partition; passes over what somebody has at this moment.';

create or replace function pgsched.cancel_backfill(id uuid, actor text default null) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  asked pgsched.backfills;
  waiting pgsched.executions;
begin
  perform pgsched_internal.check_said(null, cancel_backfill.actor);
  select b.* into asked from pgsched.backfills b
   where b.id = cancel_backfill.id and pgsched_internal.owner_of_job(b.job_id) is not null for update;
  if not found then
    perform pgsched_internal.refuse('PS010', format('there is no backfill %s', cancel_backfill.id), 'look it up in pgsched.backfills');
  elsif asked.state <> 'active' then
    return false;
  end if;
  update pgsched.backfills b set state = 'cancelled', updated_at = pgsched.now() where b.id = asked.id;
  for waiting in
    select e.* from unnest(pgsched_internal.homes_of(asked.job_id)) home,
                    pgsched_internal.lock_backfilled(home, asked.job_id, asked.starts_at, asked.ends_at) e
  loop
    delete from pgsched.executions e where e.partition = waiting.partition and e.id = waiting.id;
    perform pgsched_internal.end_execution(waiting, 'cancelled', 'backfill cancelled', begun => waiting.lease_token is null);
    perform pgsched_internal.notify_workers('stop ' || waiting.id) where waiting.lease_token is not null;
  end loop;
  perform pgsched_internal.write_log('cancel backfill', asked.job_id, cancel_backfill.actor, jsonb_build_object('backfill', asked.id),
    'backfill', asked.id::text);
  return true;
end $$;
comment on function pgsched.cancel_backfill(uuid, text)
  is 'Ends a backfill: what it planned and still waits is cancelled, what runs goes on. False if it had ended before;
PS010 for an unknown id.';
