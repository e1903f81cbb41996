-- Handles claimed runs that have not begun when their job is edited, paused or cancelled. Only the worker knows whether
-- a run has begun. So the change notifies the workers of the claimed runs, and each worker calls recall for the runs
-- that it has not begun. recall adapts these runs to the changed job.

create or replace function pgsched_internal.tell_of_change(job_id uuid) returns void language plpgsql volatile as $$
begin
  perform pgsched_internal.notify_workers('stop ' || string_agg(found.id::text, ','))
    from (select r.id from pgsched.jobs j, pgsched_internal.rows_of_job(j.id, 'e.plan > 0 and e.plan <> $2'
             ' and (e.lease_owner is not null and e.attempt = 1 or e.lease_token is null and e.attempt = 0)'
             ' order by e.scheduled_for desc limit 200', j.revision) r
           where j.id = tell_of_change.job_id limit 200) found  -- a notification is limited to 8000 bytes
  having count(*) > 0;
end $$;
comment on function pgsched_internal.tell_of_change(uuid)
  is 'Notifies the workers that have claimed runs of a job that was changed.';

-- If the run's instant had not come when the job was changed, the next plan decides about the instant, as for a waiting
-- row. If the instant had come, it stays accounted for.
create or replace function pgsched_internal.replan_from(there pgsched.executions, job pgsched.jobs) returns void
  language plpgsql volatile as $$
begin
  update pgsched.jobs j
     set planned_revision = case when j.state = 'active' then 0 else j.planned_revision end,
         accounted_to = case when j.state <> 'active' then j.accounted_to
                             when j.planned_revision = j.revision then there.scheduled_for - interval '1 microsecond'
                             else least(j.accounted_to, there.scheduled_for - interval '1 microsecond') end,
         runs = case when j.rules ? 'max_runs' then greatest(j.runs - 1, 0) else j.runs end
   where j.id = job.id;
  if job.state = 'active' then
    perform pgsched_internal.notify_workers('plan');
  end if;
end $$;
comment on function pgsched_internal.replan_from(pgsched.executions, pgsched.jobs)
  is 'No longer counts a run that did not begin. If the job is still active, has the job planned again from the run''s
instant.';

create or replace function pgsched_internal.follow_change(there pgsched.executions, job pgsched.jobs) returns void
  language plpgsql volatile set plan_cache_mode = force_custom_plan as $$
declare
  had_come constant boolean := there.scheduled_for <= job.updated_at;
  stays constant boolean := job.state = 'active' and pgsched_internal.partition_of(job) = there.partition
    and (had_come or there.awaited is true or coalesce((job.rules ->> 'after_completion')::boolean, false));
begin
  if stays then
    update pgsched.executions e
       set target = job.target, payload = job.payload, options = job.options, ordering_key = job.ordering_key, plan = -job.revision,
           lease_owner = null, lease_token = null, lease_expires_at = null, attempt = 0,
           at_head = case when job.ordering_key is not distinct from there.ordering_key then e.at_head end
     where e.partition = there.partition and e.id = there.id;
    perform pgsched_internal.notify_wake(there.partition, there.fire_at);
    if job.ordering_key is distinct from there.ordering_key then
      perform pgsched_internal.notify_unless_silent('turns');
    end if;
    return;
  end if;
  if had_come and job.state = 'paused' and there.fire_at > job.updated_at then  -- it may start after the pause
    update pgsched.executions e set lease_owner = null, lease_token = null, lease_expires_at = null, attempt = 0
     where e.partition = there.partition and e.id = there.id;
    perform pgsched_internal.hold_withdrawn(there, 'paused');
    return;
  end if;
  delete from pgsched.executions e where e.partition = there.partition and e.id = there.id;
  if job.state <> 'active' and had_come or there.awaited then
    perform pgsched_internal.end_execution(there, 'skipped', case job.state when 'active' then 'edited' when 'cancelled' then 'job cancelled'
      else job.state::text end, begun => false);
  elsif there.ordering_key is not null then
    perform pgsched_internal.notify_unless_silent('turns');
  end if;
  perform pgsched_internal.replan_from(there, job);
end $$;
comment on function pgsched_internal.follow_change(pgsched.executions, pgsched.jobs)
  is 'Adapts a claimed run that has not begun to a change of its job: the run waits again, ends, or is left to the next
plan.';

-- Locks the job first, as every change of a job does. Never waits: if the row or the job is locked, the worker asks
-- again.
create or replace function pgsched_internal.recall(partition smallint, id uuid, token bigint) returns text
  language plpgsql volatile set plan_cache_mode = force_custom_plan as $$
declare
  there pgsched.executions;
  job pgsched.jobs;
begin
  there := pgsched_internal.live_execution(recall.partition, recall.id);
  if there.lease_token is distinct from recall.token then
    return 'gone';
  end if;
  select * into job from pgsched.jobs j where j.id = there.job_id and j.client_id = there.client_id;
  if job.id is null or job.revision = there.plan or job.state = 'finished' then
    return 'kept';
  end if;
  select * into job from pgsched.jobs j where j.id = job.id for no key update skip locked;
  if job.id is null then
    return 'locked';
  end if;
  perform from pgsched.executions e
    where e.partition = recall.partition and e.id = recall.id and e.lease_token = recall.token for update skip locked;
  if not found then
    return 'locked';
  end if;
  perform pgsched_internal.follow_change(there, job);
  return 'gone';
end $$;
comment on function pgsched_internal.recall(smallint, uuid, bigint)
  is 'Adapts a leased run that has not begun to a change of its job. Returns gone if the run was adapted or is no longer
leased under this token, kept if the job has not changed since the run was planned, and locked if another transaction
has locked the run or the job.';
