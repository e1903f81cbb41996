-- The waiting rows of a job, and what happens to them when the job changes.

create or replace function pgsched_internal.partition_of(job pgsched.jobs) returns smallint
  language sql stable parallel safe as $$
  select q.first_partition + pgsched_internal.slot_for(job.client_id, coalesce(job.key, job.id::text), job.ordering_key)
    from pgsched.queues q where q.name = job.queue
$$;
comment on function pgsched_internal.partition_of(pgsched.jobs) is 'The partition for all new rows of a job.';

-- If a worker was claiming a row while an edit moved the job, that row stays in the former partition.
create or replace function pgsched_internal.homes_of(job_id uuid) returns smallint[] language sql stable as $$
  select array_append(array(select m.partition from pgsched_internal.job_moves m where m.job_id = j.id), pgsched_internal.partition_of(j))
    from pgsched.jobs j where j.id = homes_of.job_id
$$;
comment on function pgsched_internal.homes_of(uuid) is 'The partitions that may contain rows of a job.';

create or replace function pgsched_internal.note_move(before pgsched.jobs) returns void language sql volatile as $$
  insert into pgsched_internal.job_moves (job_id, partition) values (before.id, pgsched_internal.partition_of(before))
  on conflict do nothing
$$;
comment on function pgsched_internal.note_move(pgsched.jobs)
  is 'Records the current partition of a job, before an edit moves the job''s rows to another partition.';

-- The condition is always a literal in these files. A condition that locks rows skips those that another transaction
-- has locked.
create or replace function pgsched_internal.rows_of_job(
  job_id uuid, condition text, revision integer default null, low timestamptz default null, high timestamptz default null
) returns setof pgsched.executions language plpgsql volatile as $$
declare
  home smallint;
begin
  for home in select unnest(pgsched_internal.homes_of(rows_of_job.job_id)) loop
    return query execute format('select e.* from %s e.job_id = $1 and %s', pgsched_internal.in_partition(home), rows_of_job.condition)
      using rows_of_job.job_id, rows_of_job.revision, rows_of_job.low, rows_of_job.high;
  end loop;
end $$;
comment on function pgsched_internal.rows_of_job(uuid, text, integer, timestamptz, timestamptz)
  is 'The live rows of a job that meet a condition, from all of its partitions. In the condition, $2 is a revision, and
$3 and $4 are instants.';

-- A run must not begin if its instant is no longer in the job's schedule, and only a worker can check the schedule. So
-- the row is held until the job is planned again, without a place in the order of its ordering key.
create or replace function pgsched_internal.hold_withdrawn(waiting pgsched.executions, reason text) returns void
  language plpgsql volatile as $$
begin
  update pgsched.executions e
     set fire_at = 'infinity', scheduled_for = coalesce(e.scheduled_for, e.fire_at), gate = null, waits = pgsched_internal.waited(e.waits),
         at_head = null, ordering_key = null, reason = hold_withdrawn.reason
   where e.partition = waiting.partition and e.id = waiting.id;
  if waiting.fire_at = 'infinity' then
    perform pgsched_internal.forget_dependencies(waiting.id);
  end if;
  if waiting.ordering_key is not null then
    perform pgsched_internal.notify_unless_silent('turns');
  end if;
end $$;
comment on function pgsched_internal.hold_withdrawn(pgsched.executions, text)
  is 'Holds a planned row, whose job was changed after the row''s instant had come, until the job is planned again.';

-- A pause cancels the runs that were to start during the pause. A run that jitter or a window delays may still start
-- after the pause.
create or replace function pgsched_internal.may_still_run(waiting pgsched.executions, job pgsched.jobs, carries_on boolean) returns boolean
  language sql stable parallel safe as $$
  -- A row held by an earlier change may still run, even if the planner does not continue from that row
  select case when not carries_on then waiting.fire_at = 'infinity' and waiting.gate is null
              when job.state = 'active' then coalesce(waiting.scheduled_for, waiting.fire_at) <= pgsched.now()
              else job.state = 'paused' and waiting.scheduled_for <= pgsched.now() and waiting.fire_at > pgsched.now()
                   and waiting.fire_at <= waiting.scheduled_for + pgsched_internal.length_of(coalesce(job.rules ->> 'jitter', job.rules ->> 'window')) end
$$;
comment on function pgsched_internal.may_still_run(pgsched.executions, pgsched.jobs, boolean)
  is 'True if the instant of a planned row has come and its run may still begin, although its job was edited or
paused.';

-- Finds rows that were claimed before the job was changed, and that were handed back or held by a gate before they
-- began. The planner has already continued without them, so their instants are accounted for.
create or replace function pgsched_internal.follow_unbegun(job pgsched.jobs, reason text) returns void
  language plpgsql volatile as $$
declare
  waiting pgsched.executions;
begin
  for waiting in
    select w.* from pgsched_internal.rows_of_job(job.id, 'e.lease_token is null and e.attempt = 0 and e.plan < 0 and e.plan <> -$2'
      ' and e.uncounted is null and e.gate is distinct from ''error'' for update skip locked', job.revision) w
  loop
    if job.state = 'active' then
      update pgsched.executions e set target = job.target, payload = job.payload, options = job.options, plan = -job.revision
       where e.partition = waiting.partition and e.id = waiting.id;
      continue;
    end if;
    delete from pgsched.executions e where e.partition = waiting.partition and e.id = waiting.id;
    perform pgsched_internal.end_execution(waiting, 'skipped', follow_unbegun.reason);
  end loop;
end $$;
comment on function pgsched_internal.follow_unbegun(pgsched.jobs, text)
  is 'Adapts runs of a changed job that were handed back or held before they began: each runs with the new definition,
or ends.';

-- Withdraws only the planned row; triggered rows and retries stay. If the row's instant has not come yet, the next plan
-- decides about the instant. If the instant has come, a row whose run may still begin is kept; for any other, history
-- records the instant and all later instants up to now. A row that was being claimed during an earlier change, and was
-- then handed back, accounts only for its own instant.
create or replace function pgsched_internal.withdraw(job_id uuid, reason text, keeps boolean default false) returns void
  language plpgsql volatile as $$
declare
  job pgsched.jobs;
  waiting pgsched.executions;
  planned integer;
  carries_on boolean;
  held uuid[] := '{}';
begin
  select * into job from pgsched.jobs j where j.id = withdraw.job_id;
  -- Null unless this is the first change since the job was planned.
  planned := case when job.planned_revision = job.revision - 1 then job.planned_revision end;
  for waiting in
    select w.* from pgsched_internal.rows_of_job(withdraw.job_id,
      'e.lease_token is null and e.attempt = 0 and e.plan > 0 for update skip locked') w
  loop
    carries_on := waiting.plan is not distinct from planned;
    if keeps and pgsched_internal.may_still_run(waiting, job, carries_on) then
      perform pgsched_internal.hold_withdrawn(waiting, withdraw.reason);
      held := held || waiting.id;
      continue;
    end if;
    delete from pgsched.executions e where e.partition = waiting.partition and e.id = waiting.id;
    if carries_on and coalesce(waiting.scheduled_for, waiting.fire_at) <= pgsched.now() then
      perform pgsched_internal.end_execution(waiting, 'skipped', withdraw.reason, pgsched.now());
    elsif waiting.awaited or not carries_on then  -- recorded, so that dependents do not wait forever
      perform pgsched_internal.end_execution(waiting, 'skipped', withdraw.reason);
    elsif waiting.fire_at = 'infinity' then
      perform pgsched_internal.forget_dependencies(waiting.id);
    end if;
  end loop;
  perform pgsched_internal.follow_unbegun(job, withdraw.reason);
  perform pgsched_internal.account_from_claimed(withdraw.job_id, planned, held);
  perform pgsched_internal.tell_of_change(withdraw.job_id);
end $$;
comment on function pgsched_internal.withdraw(uuid, text, boolean)
  is 'Takes back the planned row of a job that is edited, paused or cancelled. If the run may still begin and keeps is
true, holds the row instead.';

-- If the current revision of the job was never planned, the new schedule begins where the old one would have.
create or replace function pgsched_internal.accounted_to(job pgsched.jobs, fires_anew boolean) returns timestamptz
  language sql stable parallel safe as $$
  select case when job.state in ('finished', 'invalid') then pgsched.now()
              when job.planned_revision = job.revision then
                case when fires_anew then pgsched.now() else greatest(job.accounted_to, pgsched.now()) end
              else case when fires_anew then least(job.accounted_to, pgsched.now()) else job.accounted_to end end
$$;
comment on function pgsched_internal.accounted_to(pgsched.jobs, boolean)
  is 'The instant up to which a job is accounted for once its planned row has been withdrawn.';

-- Looks for a due row that the change has skipped because an uncommitted claim has locked it. Such a row still appears
-- to be waiting. A claim that has committed had already planned the next row when the change locked the job.
create or replace function pgsched_internal.account_from_claimed(job_id uuid, planned integer, held uuid[] default '{}') returns void
  language plpgsql volatile as $$
declare
  claimed timestamptz;
begin
  select min(e.scheduled_for) into claimed
    from pgsched_internal.rows_of_job(account_from_claimed.job_id, 'e.lease_token is null') e
   where e.attempt = 0 and e.plan = planned and e.scheduled_for < pgsched.now() and e.id <> all (held);
  update pgsched.jobs j set accounted_to = claimed where j.id = account_from_claimed.job_id and j.accounted_to > claimed;
end $$;
comment on function pgsched_internal.account_from_claimed(uuid, integer, uuid[])
  is 'Makes the planner continue from the due row that a worker is claiming while the job is being changed.';

-- The instant of a run that was cancelled ahead of time stays excluded, whatever else changes in the job. Past instants
-- are removed from the list, because they are never planned again.
create or replace function pgsched_internal.take_out(job_id uuid, instant timestamptz, actor text) returns void
  language plpgsql volatile as $$
declare
  past constant timestamptz := least(pgsched.now(), instant);
  ahead timestamptz[];
begin
  select array(select e from unnest(j.exceptions || take_out.instant) e where e >= past group by e order by e) into ahead
    from pgsched.jobs j where j.id = take_out.job_id for no key update;
  if cardinality(ahead) > 1000 then
    perform pgsched_internal.refuse('PS011', format('1000 future runs of job %s have been cancelled, which is the maximum', take_out.job_id),
      'pause the job, or exclude that time in its rules');
  end if;
  update pgsched.jobs j set exceptions = ahead where j.id = take_out.job_id;
  perform pgsched_internal.write_log('take out', take_out.job_id, take_out.actor, jsonb_build_object('scheduled_for', instant), 'job');
end $$;
comment on function pgsched_internal.take_out(uuid, timestamptz, text)
  is 'Adds the instant of a cancelled run to the exceptions of its job.';

-- Makes the planner continue from the given instant, unless the job has another row to continue from.
create or replace function pgsched_internal.carry_on(job_id uuid, accounted_to timestamptz) returns void
  language plpgsql volatile as $$
begin
  update pgsched.jobs j set planned_revision = 0, accounted_to = carry_on.accounted_to
   where j.id = carry_on.job_id and j.state = 'active' and j.planned_revision = j.revision
     and not exists (select from pgsched.executions e where e.partition = pgsched_internal.partition_of(j) and e.job_id = j.id
                        and e.plan = j.revision and e.attempt = 0);
  perform pgsched_internal.notify_workers('plan');
end $$;
comment on function pgsched_internal.carry_on(uuid, timestamptz)
  is 'Has a worker plan the next row of a job after its planned row was cancelled.';

-- Runs with its owner's rights, because the planner spreads a job's rows among those of all clients. The session learns
-- only the counts.
create or replace function pgsched_internal.crowding(partition integer, lows timestamptz[], highs timestamptz[]) returns setof bigint
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  return query execute format(
    'select (select count(*) from (select from %s e.fire_at >= s.low and e.fire_at < s.high limit 1000) found)'
    '  from unnest($1, $2) with ordinality as s(low, high, n) order by s.n', pgsched_internal.in_partition(crowding.partition::smallint))
    using lows, highs;
end $$;
comment on function pgsched_internal.crowding(integer, timestamptz[], timestamptz[])
  is 'The number of the partition''s rows in each of these time spans, counted up to 1,000.';
