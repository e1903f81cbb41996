-- Backfills: bulk operations that run past instants of a job. Workers compute the instants and plan a row for each.

create or replace function pgsched_internal.check_backfill(filter jsonb, locks boolean) returns text language plpgsql volatile as $$
declare
  job_id constant uuid := filter ->> 'job';
  starts_at constant timestamptz := filter ->> 'from';
  ends_at constant timestamptz := filter ->> 'to';
  job pgsched.jobs;
  other uuid;
begin
  if locks then
    perform from pgsched.jobs j where j.id = job_id and j.client_id = pgsched_internal.owner_of_job(job_id) for no key update;
  end if;
  select * into job from pgsched.jobs j where j.id = job_id;
  if not found or not pgsched_internal.acts_for(job.client_id) then
    perform pgsched_internal.refuse('PS010', format('there is no job %s', job_id), 'the ids are in pgsched.jobs');
  elsif job.state in ('cancelled', 'invalid') then
    perform pgsched_internal.refuse('PS011', format('job %s is %s', job.id, job.state), 'schedule it again');
  elsif coalesce((job.rules ->> 'after_completion')::boolean, false) then
    perform pgsched_internal.refuse('PS011', format('job %s has no instants to backfill, because its interval counts from the end of each run', job.id),
      'trigger it instead');
  elsif not isfinite(starts_at) or not isfinite(ends_at) or starts_at >= ends_at then
    perform pgsched_internal.refuse('PS002', 'a backfill must end after it starts', 'give the earlier instant as the start and the later one as the end');
  elsif starts_at < '1970-01-01 00:00+00' then
    perform pgsched_internal.refuse('PS002', 'a backfill cannot start before 1970', 'give a later start');
  elsif ends_at > pgsched.now() then
    perform pgsched_internal.refuse('PS002', 'a backfill cannot end in the future', 'end it at now() or earlier; future instants are planned anyway');
  elsif starts_at < ends_at - interval '3653 days' then
    perform pgsched_internal.refuse('PS002', 'a backfill can cover at most 3653 days', 'backfill a shorter range first, then the rest');
  end if;
  select b.id into other from pgsched.bulk_operations b
   where b.state = 'active' and b.action = 'backfill' and b.job_id = job.id
     and (b.filter ->> 'from')::timestamptz < ends_at and (b.filter ->> 'to')::timestamptz > starts_at;
  if found and locks then
    perform pgsched_internal.refuse('PS011', format('backfill %s of this job already covers part of the range', other),
      'wait until it has finished, or stop it');
  end if;
  return job.client_id;
end $$;
comment on function pgsched_internal.check_backfill(jsonb, boolean)
  is 'The client of a job; raises PS002, PS010 or PS011 if these instants of the job cannot be backfilled. If locks is
true, also locks the job.';

create or replace function pgsched_internal.cancel_backfilled(asked pgsched.bulk_operations) returns void
  language plpgsql volatile set plan_cache_mode = force_custom_plan as $$
declare
  job_id constant uuid := asked.filter ->> 'job';
  waiting pgsched.executions;
begin
  for waiting in
    select e.* from pgsched_internal.rows_of_job(job_id,
      'e.plan = 0 and (e.lease_token is null or pgsched_internal.is_ahead(e::pgsched.executions))'
      ' and e.scheduled_for >= $3 and e.scheduled_for < $4 for update skip locked',
      low => (asked.filter ->> 'from')::timestamptz, high => (asked.filter ->> 'to')::timestamptz) e
  loop
    delete from pgsched.executions e where e.partition = waiting.partition and e.id = waiting.id;
    perform pgsched_internal.end_execution(waiting, 'cancelled', 'backfill stopped', begun => waiting.lease_token is null);
    perform pgsched_internal.notify_workers('stop ' || waiting.id) where waiting.lease_token is not null;
  end loop;
end $$;
comment on function pgsched_internal.cancel_backfilled(pgsched.bulk_operations)
  is 'Cancels the waiting executions that a backfill has planned; running ones continue.';
