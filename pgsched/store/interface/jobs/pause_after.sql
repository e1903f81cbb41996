-- Consecutive failures, counted on the job if its rules ask for it, in the transaction that settles the run.

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
  is 'Counts a job''s consecutive failures and pauses it when they reach its rule pause_after; called with each settle
of a run of a job that has the rule.';
