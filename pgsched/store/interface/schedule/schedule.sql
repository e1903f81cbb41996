-- Scheduling by SQL. Everything happens in the caller's transaction.

-- Does for its row what the triggers would do, and sets pgsched.notify to 'told', so that they skip their scan.
create or replace function pgsched_internal.insert_waiting(
  id uuid, fire_at timestamptz, client text, target text, payload jsonb, options jsonb, key text, ordering_key text, home smallint,
  labels jsonb
) returns void language plpgsql volatile as $$
declare
  told constant boolean := current_setting('pgsched.notify', true) is distinct from 'off';
begin
  if told then
    if insert_waiting.target like 'notify:%' or exists (select from pgsched.queues q where q.full_since is not null)
       or exists (select from pgsched.clients c where c.client_id = client and c.channels is not null) then
      perform pgsched_internal.refuse_full(pgsched_internal.first_partition_of(home));
      perform pgsched_internal.check_channel(client, insert_waiting.target);
    end if;
    perform set_config('pgsched.notify', 'told', true);
  end if;
  insert into pgsched.executions (id, fire_at, client_id, target, payload, options, key, ordering_key, partition, labels)
  values (insert_waiting.id, insert_waiting.fire_at, client, insert_waiting.target, insert_waiting.payload, insert_waiting.options,
          insert_waiting.key, insert_waiting.ordering_key, home, insert_waiting.labels);
  if told then
    perform set_config('pgsched.notify', 'on', true);
    if insert_waiting.fire_at < pgsched.now() + interval '2 seconds' then
      perform pgsched_internal.notify_wake(home, insert_waiting.fire_at);
    end if;
  end if;
end $$;
comment on function pgsched_internal.insert_waiting(uuid, timestamptz, text, text, jsonb, jsonb, text, text, smallint, jsonb)
  is 'Inserts an execution and wakes a worker for it; called by pgsched.schedule_outcome. Raises PS014 if its queue is
full.';

create or replace function pgsched_internal.schedule_plain(
  target text, payload jsonb, fire_at timestamptz, client text, ordering_key text, queue text, options jsonb, labels jsonb
) returns pgsched_internal.placement language plpgsql volatile as $$
declare
  home constant smallint := pgsched.partition_for(queue, client, null, ordering_key);
  new_id constant uuid := pgsched_internal.new_id_in(home);
begin
  perform pgsched_internal.insert_waiting(new_id, fire_at, client, target, payload, options, null, ordering_key, home, labels);
  return row(new_id, 'created', fire_at, home)::pgsched_internal.placement;
end $$;
comment on function pgsched_internal.schedule_plain(text, jsonb, timestamptz, text, text, text, jsonb, jsonb)
  is 'Schedules one execution without a key; called by pgsched.schedule_outcome.';

-- The timing parameters have defaults that mean "now" and "once", so that null can be told apart from an omitted
-- argument: an expression that is null by mistake must not make the execution fire now.
create or replace function pgsched.schedule_outcome(
  target text, payload jsonb default null, inout fire_at timestamptz default '-infinity', delay interval default '0', cron text default '@once',
  every interval default '10000 years', timezone text default null, client text default 'default', key text default null, ordering_key text default null,
  queue text default 'default', options jsonb default null,
  on_conflict text default 'replace', rules jsonb default null, labels jsonb default null, after text[] default null,
  after_outcome text default 'success', gap text default null, overlap text default null,
  out id uuid, out outcome text) language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  null_given constant text := case when schedule_outcome.fire_at is null then 'fire_at' when delay is null then 'delay'
                                   when cron is null then 'cron' when every is null then 'every' end;
  placed pgsched_internal.placement;
  instant timestamptz;
begin
  perform pgsched_internal.check_acts_for(client);
  fire_at := nullif(schedule_outcome.fire_at, '-infinity');
  delay := nullif(delay, '0');
  cron := nullif(cron, '@once');
  every := nullif(every, '10000 years');
  instant := coalesce(schedule_outcome.fire_at, pgsched.now() + least(greatest(delay, interval '0'), interval '10000 years'));
  if null_given is not null or num_nonnulls(schedule_outcome.fire_at, delay, cron, every) > 1 or delay < interval '0' or target is null
     or num_nonnulls(timezone, rules, after, gap, overlap) > 0 or on_conflict is distinct from 'replace'
     or after_outcome is distinct from 'success' or instant not between '0001-01-01 00:00+00' and '9999-12-31 00:00+00' then
    perform pgsched_internal.check_request(null_given, target, schedule_outcome.fire_at, delay, cron, every, timezone, key, on_conflict,
      rules, gap, overlap, queue, after, after_outcome, instant);
  elsif queue <> 'default' or target = 'queue:' then
    perform pgsched_internal.check_pulled(target, queue);
  end if;
  if options ? 'body' then
    perform pgsched_internal.check_body(payload, options -> 'body');
  end if;
  if cron is not null or every is not null then
    placed := pgsched_internal.schedule_job(target, payload, cron, every, timezone, client, key, ordering_key, queue, options,
      on_conflict, rules, labels, gap, overlap);
  elsif cardinality(after) > 0 then
    perform pgsched_internal.check_channel(client, target);  -- insert_waiting skips this check if notifications are off
    placed := pgsched_internal.schedule_after(target, payload, case when num_nonnulls(schedule_outcome.fire_at, delay) > 0 then instant end,
      client, key, ordering_key, queue, options, on_conflict, after, after_outcome, labels);
  elsif key is not null then
    placed := pgsched_internal.schedule_keyed(target, payload, instant, client, key, ordering_key, queue, options, on_conflict, labels);
  else
    placed := pgsched_internal.schedule_plain(target, payload, instant, client, ordering_key, queue, options, labels);
  end if;
  id := placed.id; outcome := placed.outcome; fire_at := placed.fire_at;
end $$;
comment on function pgsched.schedule_outcome(text, jsonb, timestamptz, interval, text, interval, text, text, text, text, text, jsonb, text, jsonb, jsonb, text[], text,
                                     text, text)
  is 'Like pgsched.schedule, but also returns the outcome and fire_at. The outcome is one of four: created; replaced, if
a waiting execution or a job was replaced; existing, if the holder of the key stays unchanged, because it is running or
on_conflict says so; ended, if nothing was scheduled because the execution under the key succeeded less than
pgsched.key_retention ago. fire_at is null for a job, and for an execution that is running, waits for others or has
ended.';

-- A single expression, so that the planner inlines it as a call of the function above. Its names are resolved when it
-- is created.
create or replace function pgsched.schedule(
  target text, payload jsonb default null, fire_at timestamptz default '-infinity', delay interval default '0', cron text default '@once',
  every interval default '10000 years', timezone text default null, client text default 'default', key text default null, ordering_key text default null,
  queue text default 'default', options jsonb default null,
  on_conflict text default 'replace', rules jsonb default null, labels jsonb default null, after text[] default null,
  after_outcome text default 'success', gap text default null, overlap text default null
) returns uuid language sql volatile
  return (pgsched.schedule_outcome(target, payload, fire_at, delay, cron, every, timezone, client, key, ordering_key, queue, options,
    on_conflict, rules, labels, after, after_outcome, gap, overlap)).id;
comment on function pgsched.schedule(text, jsonb, timestamptz, interval, text, interval, text, text, text, text, text, jsonb, text, jsonb, jsonb, text[], text,
                                     text, text)
  is 'Schedules one execution (with fire_at or delay; with neither, it fires now) or a recurring job (with cron or
every), and returns its id. If a job or a waiting execution already holds the key, it is replaced. If the execution that
holds the key is running, or succeeded less than pgsched.key_retention (24 hours) ago, nothing is scheduled, and its id
is returned; pgsched.schedule_outcome tells these cases apart. on_conflict changes this: keep leaves a waiting execution
or job unchanged, reject raises an error, and debounce moves the waiting execution to the new instant. With after, the
execution waits until the executions named there, by id or key, have succeeded; with after_outcome => ''any'', until
they have ended.';

create or replace function pgsched_internal.schedule_together(client text, orders jsonb, out id uuid, out outcome text, out fire_at timestamptz)
  returns setof record language plpgsql volatile set search_path = pg_catalog, pg_temp set lock_timeout = '50ms' as $$
begin
  return query
    select placed.id, placed.outcome, placed.fire_at
      from rows from (jsonb_to_recordset(orders) as (
             target text, payload text, fire_at timestamptz, delay interval, key text, ordering_key text, queue text, options text,
             on_conflict text, labels text)) with ordinality
             as o(target, payload, fire_at, delay, key, ordering_key, queue, options, on_conflict, labels, place),
           lateral pgsched.schedule_outcome(
             target => o.target, payload => o.payload::jsonb,
             fire_at => coalesce(o.fire_at, '-infinity'), delay => coalesce(o.delay, interval '0'),
             client => schedule_together.client, key => o.key, ordering_key => o.ordering_key, queue => o.queue,
             options => o.options::jsonb, on_conflict => o.on_conflict, labels => o.labels::jsonb) as placed
     order by o.place;
end $$;
comment on function pgsched_internal.schedule_together(text, jsonb)
  is 'Schedules several one-shots of a client in the given order: all of them, or none. Each one-shot is an object with
the parameters of pgsched.schedule_outcome by name; JSON parameters are given as text. Waits only briefly for locks.';
