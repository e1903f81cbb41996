-- Jobs whose runs follow the runs of another job: what can be checked when the job is written. When a run's instant
-- comes, a worker decides whether the run may begin.

create or replace function pgsched_internal.check_after_rule(after jsonb) returns boolean
  language plpgsql immutable parallel safe as $$
begin
  return coalesce(jsonb_typeof(after) = 'object' and jsonb_typeof(after -> 'job') = 'string' and length(after ->> 'job') between 1 and 200
      and after - array['job', 'same', 'on_failure', 'on_none'] = '{}'
      and (not after ? 'same' or coalesce(after ->> 'same' in ('hour', 'day', 'week', 'month'), false))
      and (not after ? 'on_failure' or coalesce(after ->> 'on_failure' in ('skip', 'run', 'wait'), false))
      and (not after ? 'on_none' or coalesce(after ->> 'on_none' in ('run', 'skip'), false)), false)
    or pgsched_internal.refuse('PS002', format('the rule "after" cannot be %s', left(after::text, 100)),
         'write {"job": "its-key"}, and if you like "same" (hour, day, week or month), "on_failure" (skip, run or wait) and "on_none" (run or skip)');
end $$;
comment on function pgsched_internal.check_after_rule(jsonb)
  is 'True for a valid value of the rule "after"; raises PS002 with a hint otherwise.';

-- Only one transaction per client may check at a time, because two concurrent transactions would not see each other's
-- jobs.
create or replace function pgsched_internal.circle_refused() returns trigger
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into pgsched_internal.circles (client_id) values (new.client_id) on conflict do nothing;
  perform from pgsched_internal.circles c where c.client_id = new.client_id for update;
  perform from (with recursive before(key) as (
      select new.rules -> 'after' ->> 'job'
      union select j.rules -> 'after' ->> 'job' from before b
              join pgsched.jobs j on j.client_id = new.client_id and j.key = b.key and j.state <> 'cancelled' and j.id <> new.id)
    select from before b where b.key = new.key) circle;
  if found then
    perform pgsched_internal.refuse('PS011', format('job %L would run after itself', new.key), 'remove the rule "after" from one of the jobs in the cycle');
  end if;
  return new;
end $$;
comment on function pgsched_internal.circle_refused()
  is 'Rejects a job that would follow itself, directly or through other jobs.';
create or replace trigger circle_refused before insert or update of rules, key on pgsched.jobs
  for each row when (new.rules ? 'after' and new.key is not null) execute function pgsched_internal.circle_refused();
