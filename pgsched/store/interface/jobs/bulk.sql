-- The same for all jobs of a client, or with some labels. They are locked one by one, in the order of their ids; one whose
-- state has changed by then is passed over.

create or replace function pgsched_internal.check_filter(client text, labels jsonb) returns boolean
  language plpgsql immutable parallel safe as $$
begin
  if length(client) not between 1 and 100 then
    return pgsched_internal.refuse('PS000', 'a client is named by 1 to 100 characters', 'write client => ''payments''');
  end if;
  if labels is not null then
    perform pgsched_internal.check_labels(labels);
  end if;
  if client is null and coalesce(labels, '{}') = '{}' then
    return pgsched_internal.refuse('PS000', 'there is no filter', 'give client, labels or both: there is no way to mean all jobs of everybody');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_filter(text, jsonb) is 'True where a filter of jobs names a client or labels; raises PS000 otherwise.';

create or replace function pgsched_internal.lock_jobs(client text, labels jsonb, states pgsched.job_state[]) returns setof uuid
  language plpgsql volatile as $$
declare
  whose constant text[] := pgsched_internal.clients_acted_for();
  found_id uuid;
begin
  perform pgsched_internal.check_filter(lock_jobs.client, lock_jobs.labels);
  for found_id in
    select j.id from pgsched.jobs j
     where (lock_jobs.client is null or j.client_id = lock_jobs.client) and (whose is null or j.client_id = any (whose))
       and (lock_jobs.labels is null or j.labels @> lock_jobs.labels) and j.state = any (states)
     order by j.id
  loop
    return query select j.id from pgsched.jobs j where j.id = found_id and j.state = any (states) for update;
  end loop;
end $$;
comment on function pgsched_internal.lock_jobs(text, jsonb, pgsched.job_state[])
  is 'Locks the jobs of a client, with these labels and in one of these states; answers with their ids. PS000 without a filter.';

create or replace function pgsched.pause_all(
  client text default null, labels jsonb default null, note text default null, actor text default null
) returns integer language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  select count(*) filter (where pgsched.pause(job.id, pause_all.note, pause_all.actor))::int
    from pgsched_internal.lock_jobs(pause_all.client, pause_all.labels, '{active}') as job(id)
   where pgsched_internal.check_said(pause_all.note, pause_all.actor)  -- once, and also where there is no job
$$;
comment on function pgsched.pause_all(text, jsonb, text, text)
  is 'Pauses the active jobs of a client, or those with all of these labels; returns how many. PS000 without a filter.';

create or replace function pgsched.resume_all(
  client text default null, labels jsonb default null, note text default null, actor text default null
) returns integer language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  select count(*) filter (where pgsched.resume(job.id, resume_all.note, resume_all.actor))::int
    from pgsched_internal.lock_jobs(resume_all.client, resume_all.labels, '{paused}') as job(id)
   where pgsched_internal.check_said(resume_all.note, resume_all.actor)  -- once, and also where there is no job
$$;
comment on function pgsched.resume_all(text, jsonb, text, text)
  is 'Resumes the paused jobs of a client, or those with all of these labels; returns how many. PS000 without a filter.';

-- What waits of a client is cancelled with its jobs, so much at a time that the transaction stays short. Rows that a worker is claiming
-- at this moment are passed over.
create or replace function pgsched_internal.cancel_waiting(client text, note text, most integer) returns integer
  language plpgsql volatile as $$
declare
  home smallint;
  any_waits boolean;
  waiting pgsched.executions;
  taken integer := 0;
  cancelled integer := 0;
begin
  for home in select p from pgsched.queues q, pgsched_internal.partitions_of(q.first_partition) p order by p loop
    begin  -- undone, so that no lock stays on a partition in which there is nothing
      execute format('select exists (select from %s e.client_id = $1'
                     ' and (e.lease_token is null or pgsched_internal.is_ahead(e::pgsched.executions)))', pgsched_internal.in_partition(home))
         into any_waits using cancel_waiting.client;
      raise sqlstate 'PSUND';
    exception when sqlstate 'PSUND' then null;
    end;
    continue when not any_waits;
    for waiting in execute format('select e.* from %s e.client_id = $1'
      ' and (e.lease_token is null or pgsched_internal.is_ahead(e::pgsched.executions)) limit $2 for update skip locked', pgsched_internal.in_partition(home)) using cancel_waiting.client, most - taken
    loop
      execute format('delete from %s e.id = $1', pgsched_internal.in_partition(home)) using waiting.id;
      perform pgsched_internal.end_execution(waiting, 'cancelled', coalesce(cancel_waiting.note, 'cancelled'), begun => waiting.lease_token is null);
      perform pgsched_internal.notify_workers('stop ' || waiting.id) where waiting.lease_token is not null;
      taken := taken + 1;
      cancelled := cancelled + (waiting.job_id is null)::int;  -- what is left of a job counts with it
    end loop;
    exit when taken >= most;
  end loop;
  return cancelled;
end $$;
comment on function pgsched_internal.cancel_waiting(text, text, integer)
  is 'Cancels so many executions of a client that wait; returns how many of them were one-shots. Called by pgsched.cancel_all.';

create or replace function pgsched.cancel_all(
  client text default null, labels jsonb default null, note text default null, actor text default null
) returns integer language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  cancelled integer;
  waiting integer;
begin
  perform pgsched_internal.check_said(cancel_all.note, cancel_all.actor);
  select count(*) filter (where pgsched.cancel(job.id, note => cancel_all.note, actor => cancel_all.actor)) into cancelled
    from pgsched_internal.lock_jobs(cancel_all.client, cancel_all.labels, '{active,paused,invalid,finished}') as job(id);
  if cancel_all.client is not null and coalesce(cancel_all.labels, '{}') = '{}' and pgsched_internal.acts_for(cancel_all.client) then
    waiting := pgsched_internal.cancel_waiting(cancel_all.client, cancel_all.note, 10000);
    if waiting > 0 then
      perform pgsched_internal.log_setting('cancel all', cancel_all.actor,
        jsonb_build_object('client', cancel_all.client, 'executions', waiting, 'note', cancel_all.note), after => '{"status": "cancelled"}');
    end if;
  end if;
  return cancelled + coalesce(waiting, 0);
end $$;
comment on function pgsched.cancel_all(text, jsonb, text, text)
  is 'Cancels the jobs of a client and, 10,000 a call, its executions that wait; or the jobs with all of these labels. Returns how
many it cancelled: call it until that is 0. PS000 without a filter.';
