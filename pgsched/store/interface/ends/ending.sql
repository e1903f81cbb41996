-- Ends executions: writes them to history, and does what follows from the end. Plain successes, from which nothing
-- follows, are instead moved in batches by settle_succeeded.sql and settle_discarded.sql; a test compares the two ways.

create or replace function pgsched_internal.end_execution(
  ended pgsched.executions, status pgsched.execution_status, reason text default null, last_scheduled_for timestamptz default null,
  instants bigint default null, status_code smallint default null, result jsonb default null, begun boolean default true,
  lets_next boolean default false, began_at timestamptz default null, seconds double precision default null
) returns pgsched.execution_status language plpgsql volatile as $$
declare
  keep pgsched.keep := 'all';
begin
  perform pgsched_internal.count_later(ended.client_id, ended.partition, end_execution.status, coalesce(end_execution.instants, 1));
  if ended.key is null and ended.awaited is not true and end_execution.status not in ('cancelled', 'skipped') then
    keep := coalesce((select c.keep from pgsched.clients c where c.client_id = ended.client_id), 'all');
  end if;
  if keep = 'all' or keep = 'failures' and status <> 'succeeded' then
    -- The fire_at of a held execution is infinity, which is not valid in history. The fire_at of an execution that is
    -- leased without an owner is the end of its lease.
    insert into pgsched.history (finished_at, fire_at, scheduled_for, last_scheduled_for, created_at, instants, id, job_id, status, plan,
                                 partition, attempt, status_code, client_id, target, payload, options, key, ordering_key, awaited,
                                 result, reason, labels, waits, worker, began_at, seconds)
    values (pgsched.now(), case when ended.fire_at = 'infinity' then coalesce(ended.scheduled_for, pgsched.now())
                                when ended.lease_token is not null then least(ended.fire_at, pgsched.now()) else ended.fire_at end,
            coalesce(ended.scheduled_for, case when ended.fire_at = 'infinity' then pgsched.now() else ended.fire_at end),
            end_execution.last_scheduled_for, ended.created_at, end_execution.instants, ended.id, ended.job_id, end_execution.status,
            ended.plan, ended.partition, ended.attempt - (not begun)::integer, end_execution.status_code, ended.client_id, ended.target,
            ended.payload, ended.options, ended.key, ended.ordering_key, ended.awaited, end_execution.result, end_execution.reason,
            ended.labels, pgsched_internal.waited(ended.waits), case when begun then ended.lease_owner end, end_execution.began_at,
            end_execution.seconds);
  end if;
  perform pgsched_internal.follow_end(ended, status, reason, status_code, result, lets_next);
  return status;
end $$;
comment on function pgsched_internal.end_execution(pgsched.executions, pgsched.execution_status, text, timestamptz, bigint, smallint, jsonb,
                                                   boolean, boolean, timestamptz, double precision)
  is 'Ends an execution whose row the caller has deleted: writes it to history, unless its client does not keep such
ends, and does what follows from the end. Returns the status. For a run of a job, last_scheduled_for and instants
describe the further instants that the end covers. begun is false if a claim counted an attempt that never began.
lets_next says whether to give the next execution of the ordering key its turn. began_at and seconds are the last
attempt''s times, if they are known.';

create or replace function pgsched_internal.follow_end(
  ended pgsched.executions, status pgsched.execution_status, reason text, status_code smallint, result jsonb, lets_next boolean
) returns void language plpgsql volatile as $$
begin
  if status = 'failed' or ended.options ?| array['on_success', 'on_failure', 'on_expired'] then
    perform pgsched_internal.tell_outcome(ended, status, reason, status_code, result);
  end if;
  -- Reads the table of jobs only for a run of a job, so that a lock on the table does not delay other executions.
  if ended.job_id is not null and coalesce(ended.plan, 1) <> 0 then
    if exists (select from pgsched.jobs j where j.id = ended.job_id and j.rules ? 'pause_after') then
      perform pgsched_internal.count_outcome(ended.job_id, status);
    end if;
  end if;
  if ended.fire_at = 'infinity' then
    perform pgsched_internal.forget_dependencies(ended.id);
  end if;
  if ended.awaited then
    perform pgsched_internal.notify_unless_silent('release');
  end if;
  if ended.ordering_key is not null then
    if status = 'failed' and ended.options ->> 'ordering' = 'block' then
      perform pgsched_internal.block_key(ended.partition, ended.client_id, ended.ordering_key, ended.id, reason);
    end if;
    if status = 'cancelled' and ended.lease_token is not null and not pgsched_internal.is_ahead(ended) then
      perform pgsched_internal.block_while_called(ended);
    elsif lets_next then
      perform pgsched_internal.let_next(ended.partition, ended.client_id, ended.ordering_key);
    end if;
    perform pgsched_internal.notify_unless_silent('turns');
  end if;
end $$;
comment on function pgsched_internal.follow_end(pgsched.executions, pgsched.execution_status, text, smallint, jsonb, boolean)
  is 'Does what follows from the end of an execution: reports the outcome to a target, counts it for the job, has the
dependents released, and blocks the ordering key or gives its next execution a turn.';

create or replace function pgsched_internal.tell_outcome(
  ended pgsched.executions, status pgsched.execution_status, reason text, status_code smallint, result jsonb
) returns uuid language plpgsql volatile as $$
declare
  told constant text := coalesce(ended.options ->> case status when 'succeeded' then 'on_success' when 'failed' then 'on_failure'
                                                               when 'expired' then 'on_expired' end,
    case when status = 'failed' then (  -- a failed notification to this target is not reported to it
      select c.dead_letter_target from pgsched.clients c
       where c.client_id = ended.client_id and c.dead_letter_target <> ended.target) end);
  before constant text := coalesce(nullif(current_setting('pgsched.notify', true), ''), 'on');
  new_id uuid;
begin
  if told is null then
    return null;
  end if;
  perform set_config('pgsched.notify', 'on', true);  -- notifications are off in sessions that settle
  -- An outcome is reported even if the queue is full. Its row is recognised by awaited = false, which no client can
  -- set.
  insert into pgsched.executions as e (fire_at, awaited, client_id, target, partition, payload)
  values (pgsched.now(), false, ended.client_id, told,
    pgsched_internal.any_partition_of(pgsched_internal.queue_to_tell(ended.partition, told)),
    jsonb_build_object('execution', ended.id, 'job', ended.job_id, 'client', ended.client_id, 'key', ended.key, 'target', ended.target,
        'status', status, 'scheduled_for', coalesce(ended.scheduled_for, ended.fire_at), 'finished_at', pgsched.now(),
        'attempt', ended.attempt, 'status_code', status_code, 'reason', reason)
      || case when result is null or pgsched_internal.written_out(result, 524288) is not null
                   and pgsched_internal.fault_of_json(jsonb_build_array(result)) is null
              then jsonb_build_object('result', result) else '{}' end)
  returning e.id into new_id;
  perform set_config('pgsched.notify', before, true);
  return new_id;
end $$;
comment on function pgsched_internal.tell_outcome(pgsched.executions, pgsched.execution_status, text, smallint, jsonb)
  is 'Schedules an execution that reports another execution''s outcome, in the transaction that settles the other
execution. The target is the one that the options name for this outcome; a failure without such a target is reported to
the client''s dead_letter_target. Returns the id, or null if there is no target.';

create or replace function pgsched_internal.skip_range(
  job pgsched.jobs, first timestamptz, last timestamptz, instants bigint, reason text
) returns void language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  skipped pgsched.executions;
begin
  perform pgsched_internal.check_acts_for(job.client_id);
  skipped.id := pgsched_internal.new_id();
  skipped.job_id := job.id;
  skipped.plan := job.revision;
  skipped.partition := pgsched_internal.partition_of(job);
  skipped.attempt := 0;
  skipped.fire_at := first;
  skipped.scheduled_for := first;
  skipped.created_at := pgsched.now();
  skipped.client_id := job.client_id;
  skipped.target := job.target;
  skipped.payload := job.payload;
  skipped.options := job.options;
  skipped.ordering_key := job.ordering_key;
  perform pgsched_internal.end_execution(skipped, 'skipped', reason, case when instants > 1 then last end, nullif(instants, 1));
end $$;
comment on function pgsched_internal.skip_range(pgsched.jobs, timestamptz, timestamptz, bigint, text)
  is 'Records as skipped, in a single row, a job''s instants that have no row in history. Raises PS012 if the session
does not act for the client of the job.';
