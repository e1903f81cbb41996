-- Pausing and resuming a job, and the rule pause_after, which pauses a job after consecutive failures.

create or replace function pgsched_internal.job_named(name text, client text) returns uuid language plpgsql volatile as $$
begin
  if client is not null then
    return pgsched_internal.lock_named(client, name);
  elsif name !~* '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$' then
    perform pgsched_internal.refuse('PS010', format('there is no job %L', left(name, 100)), 'name it by its id, as in pgsched.jobs, or by client and key');
  end if;
  return name::uuid;
end $$;
comment on function pgsched_internal.job_named(text, text)
  is 'The id of the job with this name: an id or, if a client is given, a key. Raises PS010 if there is no such job.';

create or replace function pgsched_internal.pause_job(job_id uuid, note text) returns boolean
  language plpgsql volatile as $$
declare
  job constant pgsched.jobs := pgsched_internal.lock_job(pause_job.job_id);
begin
  if job.state <> 'active' then
    if job.state = 'paused' then
      return false;
    end if;
    perform pgsched_internal.refuse('PS011', format('job %s is %s', pause_job.job_id, job.state), 'only an active job can be paused');
  end if;
  -- If an earlier pause is not yet accounted for, this one counts from the beginning of that pause.
  update pgsched.jobs j set state = 'paused', reason = pause_job.note, revision = j.revision + 1, updated_at = pgsched.now(),
         paused_at = case when j.planned_revision = j.revision then pgsched.now() else coalesce(j.paused_at, pgsched.now()) end,
         accounted_to = pgsched_internal.accounted_to(j, false)
   where j.id = pause_job.job_id;
  perform pgsched_internal.withdraw(pause_job.job_id, 'paused', keeps => true);
  return true;
end $$;
comment on function pgsched_internal.pause_job(uuid, text)
  is 'Pauses a job: nothing more is planned until it is resumed. Running executions continue. False if it was already
paused.';

create or replace function pgsched_internal.resume_job(job_id uuid) returns boolean
  language plpgsql volatile as $$
declare
  job constant pgsched.jobs := pgsched_internal.lock_job(resume_job.job_id);
begin
  if job.state not in ('paused', 'invalid') then
    if job.state = 'active' then
      return false;
    end if;
    perform pgsched_internal.refuse('PS011', format('job %s is %s', resume_job.job_id, job.state), 'only a paused or invalid job can be resumed');
  end if;
  update pgsched.jobs j set state = 'active', reason = null, revision = j.revision + 1, updated_at = pgsched.now(),
         accounted_to = case when j.state = 'invalid' then pgsched_internal.accounted_to(j, false) else j.accounted_to end
   where j.id = resume_job.job_id;
  if job.state = 'invalid' then  -- its row may be held because of an error
    perform pgsched_internal.withdraw(resume_job.job_id, 'resumed');
  end if;
  return true;
end $$;
comment on function pgsched_internal.resume_job(uuid)
  is 'Resumes a paused or invalid job. False if it was already active.';

-- Failures are counted in the transaction that settles the run, and only if the job has the rule.
create or replace function pgsched_internal.count_outcome(job_id uuid, status pgsched.execution_status) returns boolean
  language plpgsql volatile as $$
declare
  counted pgsched.jobs;
  most integer;
begin
  if status = 'succeeded' then
    update pgsched.jobs j set failures = 0 where j.id = count_outcome.job_id and j.failures > 0;
    return true;
  elsif status <> 'failed' then
    return false;
  end if;
  update pgsched.jobs j set failures = least(j.failures, 2147483646) + 1
   where j.id = count_outcome.job_id and j.state = 'active' and j.rules ? 'pause_after' returning * into counted;
  most := (counted.rules ->> 'pause_after')::integer;
  if counted.failures >= most then
    perform pgsched.pause('job', job_id::text, note => case most when 1 then 'failed' else format('failed %s times in a row', most) end, actor => 'pgsched');
    update pgsched.jobs j set failures = 0 where j.id = count_outcome.job_id;
  end if;
  return true;
end $$;
comment on function pgsched_internal.count_outcome(uuid, pgsched.execution_status)
  is 'Counts the consecutive failures of a job with the rule pause_after, and pauses the job when it has failed that
often. Called whenever a run of such a job is settled.';
