-- Scheduling a recurring job.

create or replace function pgsched_internal.job_under(client text, key text, on_conflict text) returns uuid
  language plpgsql volatile as $$
declare
  held pgsched_internal.keys;
begin
  select j.client_id, j.key, j.id into held.client_id, held.key, held.id from pgsched.jobs j
   where j.client_id = client and j.key = job_under.key and j.state <> 'cancelled';
  if held.id is not null and on_conflict = 'reject' then
    perform pgsched_internal.refuse_taken(held, 'give another key, or leave on_conflict out to edit the job');
  end if;
  return held.id;
end $$;
comment on function pgsched_internal.job_under(text, text, text)
  is 'The id of the job that holds a key, or null; locks nothing. Raises PS011 if there is such a job and on_conflict is
reject.';

create or replace function pgsched_internal.follow_replaced(before pgsched.jobs, after pgsched.jobs) returns void
  language plpgsql volatile as $$
declare
  goes_on constant boolean := before.state in ('active', 'paused');
  fires_anew constant boolean := not goes_on or pgsched_internal.moves_instants(before, after);
  accounted constant timestamptz := pgsched_internal.accounted_to(before, false);
begin
  if not fires_anew and after.accounted_to <> accounted then
    update pgsched.jobs j set accounted_to = accounted where j.id = after.id;
  end if;
  perform pgsched_internal.follow_edit(before, after, 'replaced', fires_anew or before.state <> 'active', keeps => goes_on);
end $$;
comment on function pgsched_internal.follow_replaced(pgsched.jobs, pgsched.jobs)
  is 'Adapts a job''s waiting row after the job''s definition was replaced.';

create or replace function pgsched_internal.put_job(
  id uuid, target text, payload jsonb, cron text, every interval, timezone text, client text, key text, ordering_key text,
  queue text, options jsonb, on_conflict text, rules jsonb, labels jsonb, gap text, overlap text
) returns pgsched.jobs language sql volatile as $$
  insert into pgsched.jobs as j (id, client_id, key, queue, ordering_key, target, payload, options, rules, labels, cron,
                                 timezone, every, gap, overlap)
  values (put_job.id, put_job.client, put_job.key, put_job.queue, put_job.ordering_key, put_job.target, put_job.payload,
          put_job.options, put_job.rules, put_job.labels, put_job.cron, coalesce(put_job.timezone, 'UTC'), put_job.every,
          coalesce(put_job.gap, 'shift'), coalesce(put_job.overlap, 'first'))
  on conflict (client_id, key) where key is not null and state <> 'cancelled' do update
    set queue = excluded.queue, ordering_key = excluded.ordering_key, target = excluded.target,
        payload = excluded.payload, options = excluded.options, rules = excluded.rules, labels = excluded.labels,
        cron = excluded.cron, timezone = excluded.timezone, every = excluded.every, gap = excluded.gap, overlap = excluded.overlap,
        revision = j.revision + 1, reason = null, updated_at = pgsched.now(),
        accounted_to = pgsched_internal.accounted_to(j, true), runs = case when j.state = 'finished' then 0 else j.runs end,
        state = case when j.state = 'paused' then j.state else 'active' end
    where put_job.on_conflict = 'replace'
  returning j.*
$$;
comment on function pgsched_internal.put_job(uuid, text, jsonb, text, interval, text, text, text, text, text, jsonb, text, jsonb, jsonb, text, text)
  is 'Inserts a job, or replaces the job that holds its key if on_conflict is replace. Returns null if that job stays
unchanged.';

create or replace function pgsched_internal.schedule_job(
  target text, payload jsonb, cron text, every interval, timezone text, client text, key text, ordering_key text,
  queue text, options jsonb, on_conflict text, rules jsonb, labels jsonb, gap text, overlap text
) returns pgsched_internal.placement language plpgsql volatile set plan_cache_mode = force_custom_plan as $$
declare
  new_id constant uuid := pgsched_internal.new_id();
  held pgsched_internal.keys;
  before pgsched.jobs;
  job pgsched.jobs;
begin
  perform pgsched.partition_for(queue, client, key, ordering_key);
  perform pgsched_internal.check_zone(coalesce(timezone, 'UTC')) where cron is not null;
  if key is not null then
    if on_conflict <> 'replace' then  -- a job that stays unchanged is not locked, and neither is its key
      job.id := pgsched_internal.job_under(client, key, on_conflict);
      if job.id is not null then
        return row(job.id, 'existing', null, null)::pgsched_internal.placement;
      end if;
    end if;
    held := pgsched_internal.lock_key(client, key, new_id, null);
    if held.partition is not null and pgsched_internal.is_live(held) then
      perform pgsched_internal.refuse_taken(held, 'give another key, or cancel the execution');
    end if;
    select j.* into before from pgsched.jobs j
     where on_conflict = 'replace' and j.client_id = client and j.key = schedule_job.key and j.state <> 'cancelled' for update;
    perform pgsched_internal.refuse_declared(before, 'change the declaration, or give another key');
  end if;
  job := pgsched_internal.put_job(new_id, target, payload, cron, every, timezone, client, key, ordering_key, queue, options,
    on_conflict, rules, labels, gap, overlap);
  if job.revision > 1 then
    perform pgsched_internal.follow_replaced(before, job);
  elsif job.id is null then  -- another transaction was faster
    job.id := pgsched_internal.job_under(client, key, on_conflict);
  end if;
  if key is not null and held.id is distinct from job.id then
    perform pgsched_internal.give_key(client, key, job.id, null);
  end if;
  return row(job.id, case when job.revision = 1 then 'created' when job.revision > 1 then 'replaced' else 'existing' end, null, null)
    ::pgsched_internal.placement;
end $$;
comment on function pgsched_internal.schedule_job(text, jsonb, text, interval, text, text, text, text, text, jsonb, text, jsonb, jsonb, text, text)
  is 'Creates or replaces a recurring job; called by pgsched.schedule_outcome. A worker plans its first row.';
