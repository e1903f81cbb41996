-- Queues that consumers pull from. A claim hands out what is due, earliest first in each partition, under a lease: the row
-- then stands at the end of its lease, where it is due again, so that what others have in hand is not read by a claim.

create or replace function pgsched_internal.check_pulled(target text, queue text) returns boolean language plpgsql stable parallel safe as $$
declare
  pulled boolean;
begin
  select q.pulled into pulled from pgsched.queues q where q.name = check_pulled.queue;
  if check_pulled.target = 'queue:' and not pulled then
    return pgsched_internal.refuse('PS001', format('a queue: target waits for consumers, and workers serve the queue %L', check_pulled.queue),
      'name a queue that is pulled, or write what the workers shall call');
  elsif check_pulled.target <> 'queue:' and pulled then
    return pgsched_internal.refuse('PS001', format('consumers pull from the queue %L, so nobody would call %L', check_pulled.queue, left(check_pulled.target, 100)),
      'write target => ''queue:'', or name a queue that workers serve');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_pulled(text, text)
  is 'True where a target goes with a queue: queue: and a queue that is pulled, or neither; raises PS001 with what to write otherwise.';

create or replace function pgsched_internal.queue_to_tell(partition smallint, told text) returns smallint language sql stable parallel safe as $$
  select case when told <> 'queue:' and (select q.pulled from pgsched.queues q where q.first_partition = partition & ~15)
              then 0::smallint else partition & ~15::smallint end
$$;
comment on function pgsched_internal.queue_to_tell(smallint, text)
  is 'The first partition of the queue from which a target is told of an end in this partition: the same, but the queue default where
that one is pulled and the target is to be called.';

create or replace function pgsched_internal.check_claim(queue text, worker text, batch integer, lease interval) returns smallint
  language plpgsql stable parallel safe as $$
declare
  found pgsched.queues;
begin
  select * into found from pgsched.queues q where q.name = check_claim.queue;
  if found.name is null then
    perform pgsched_internal.refuse('PS010', format('there is no queue %L', check_claim.queue), 'the names are in pgsched.queues');
  elsif not found.pulled then
    perform pgsched_internal.refuse('PS011', format('the queue %L is not pulled: workers serve it', check_claim.queue), 'claim from one that is pulled');
  elsif worker is null or length(worker) not between 1 and 200 then
    perform pgsched_internal.refuse('PS000', 'worker must be text of 1 to 200 characters', 'write who claims, such as worker => ''svc-1''');
  elsif batch is null or batch not between 1 and 1000 then
    perform pgsched_internal.refuse('PS000', 'batch must be from 1 to 1000', 'write batch => 100');
  end if;
  perform pgsched_internal.check_lease(lease);
  return found.first_partition;
end $$;
comment on function pgsched_internal.check_claim(text, text, integer, interval)
  is 'The first partition of a queue that can be claimed from so; raises PS000, PS010 or PS011 otherwise.';

-- Whatever stands in a queue stands at the instant at which a claim may have it, also what is leased.
create or replace function pgsched_internal.until_next(queue text) returns double precision language sql volatile
  set enable_seqscan = off set enable_bitmapscan = off as $$
  select extract(epoch from min(next.fire_at) - clock_timestamp())::float8
    from pgsched.queues q cross join generate_series(0, 15) as slot
   cross join lateral (select e.fire_at from pgsched.executions e
                        where e.partition = (q.first_partition + slot)::smallint and e.fire_at < 'infinity'
                        order by e.fire_at limit 1) next
   where q.name = until_next.queue and q.paused_at is null
$$;
comment on function pgsched_internal.until_next(text)
  is 'In how many seconds the next execution of a queue is due, negative where it is so already; null where nothing waits, or the queue is paused.';

-- In transactions of clients, so nobody waits here: neither for the lock of the partition's order, which is the workers',
-- nor for another who is just putting one at the head of the key. Who is held in vain by that, workers let go on.
create or replace function pgsched_internal.take_turn(waiting pgsched.executions) returns boolean language plpgsql volatile as $$
declare
  patience constant text := current_setting('lock_timeout');
  first uuid;
begin
  select e.id into first from pgsched.executions e
   where e.partition = waiting.partition and e.client_id = waiting.client_id and e.ordering_key = waiting.ordering_key and e.at_head;
  if first is null and not exists (select from pgsched.blocked_keys b
       where b.client_id = waiting.client_id and b.ordering_key = waiting.ordering_key and b.partition = waiting.partition) then
    select e.id into first from pgsched.executions e
     where e.partition = waiting.partition and e.client_id = waiting.client_id and e.ordering_key = waiting.ordering_key
       and (isfinite(e.fire_at) or e.gate is not null or not pgsched_internal.waits_for_own(e.partition, e.id))
     order by coalesce(e.scheduled_for, e.fire_at), e.id limit 1;
  end if;
  if waiting.id = first then
    begin
      perform set_config('lock_timeout', '1ms', true);
      update pgsched.executions e set at_head = true, scheduled_for = coalesce(e.scheduled_for, e.fire_at)
       where e.partition = waiting.partition and e.id = waiting.id;
      perform set_config('lock_timeout', patience, true);
      return true;
    exception when lock_not_available or unique_violation then null;  -- another is
    end;
  end if;
  update pgsched.executions e
     set gate = 'order', fire_at = 'infinity', scheduled_for = coalesce(e.scheduled_for, e.fire_at)
   where e.partition = waiting.partition and e.id = waiting.id;
  perform pgsched_internal.notify_turns();
  return false;
end $$;
comment on function pgsched_internal.take_turn(pgsched.executions)
  is 'Whether it is the turn of an execution among those of its ordering key; it is at the head then, and held behind the others
otherwise.';

-- What is not handed out as it stands: whose lease ran out, whose time is over, what nobody can pull, whose turn it may not be.
create or replace function pgsched_internal.may_be_handed_out(partition smallint, id uuid) returns boolean language plpgsql volatile as $$
declare
  waiting pgsched.executions;
  late record;
begin
  select * into waiting from pgsched.executions e where e.partition = may_be_handed_out.partition and e.id = may_be_handed_out.id;
  if waiting.lease_token is not null then
    perform pgsched_internal.lose_in_hand(waiting);
    return false;
  elsif waiting.target <> 'queue:' then
    perform pgsched_internal.end_in_hand(waiting, 'failed', null,
      'consumers pull from this queue, so nobody calls its targets: schedule them in a queue that workers serve', tried => false);
    return false;
  end if;
  late := pgsched_internal.lateness(pgsched_internal.options_of(waiting), waiting.attempt + 1,
    extract(epoch from pgsched.now() - coalesce(waiting.scheduled_for, waiting.fire_at))::float8);
  if late.status is not null then
    perform pgsched_internal.end_in_hand(waiting, late.status, null, late.reason, tried => false);
    return false;
  end if;
  return waiting.ordering_key is null or pgsched_internal.take_turn(waiting);
end $$;
comment on function pgsched_internal.may_be_handed_out(smallint, uuid)
  is 'Whether a consumer may have a due execution that is locked; what it may not have ends, waits or is held.';

-- A share of every partition first, so that those of any come to their turn. A row of a job whose next row does not
-- stand yet (plan > 0) is left to the workers, which plan and pass it on before it is due. Plain is what can be handed
-- out as it stands. As long as a client is held, its rows are passed over: then a claim reads no more than so many of each
-- partition, first what has become due lately and then from the beginning, and workers move those rows out of the way.
create or replace function pgsched_internal.due_to_pull(
  first smallint, wanted integer, share integer, clients text[], lately boolean,
  out homes smallint[], out ids uuid[], out plain boolean[], out cut boolean
) language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
  last constant smallint := due_to_pull.first + 15;
  spans constant text[] := array['relevant_for', 'deadline', 'max_retry_age'];
  held constant text[] := array(select c.client_id from pgsched.clients c where c.state = 'held');
  low constant timestamptz := case when lately and held <> '{}' then pgsched.now() - interval '2 seconds' else '-infinity' end;
  ends timestamptz[];
  hasty constant boolean := coalesce((select q.options ?| spans from pgsched.queues q where q.first_partition = due_to_pull.first), false);
begin
  cut := isfinite(low);
  if held <> '{}' then
    select array_agg((select e.fire_at from pgsched.executions e
                       where e.partition = (due_to_pull.first + slot)::smallint and e.partition between due_to_pull.first and last
                         and e.fire_at >= low and e.fire_at <= pgsched.now()
                       order by e.fire_at offset 1000 limit 1) order by slot) into ends from generate_series(0, 15) as slot;
  end if;
  select array_agg(d.partition order by d.fire_at), array_agg(d.id order by d.fire_at), array_agg(d.plain order by d.fire_at)
    into homes, ids, plain
    from (select due.*
            from (select (due_to_pull.first + (slot + shift) % 16)::smallint as partition, ends[(slot + shift) % 16 + 1] as until
                    from generate_series(0, 15) as slot, (select floor(random() * 16)::integer as shift offset 0) drawn) p
           cross join lateral (
             select e.partition, e.id, e.fire_at,
                    e.lease_token is null and e.target = 'queue:' and e.ordering_key is null
                      and not coalesce(e.options ?| spans, false)
                      and not exists (select from pgsched.clients c where c.client_id = e.client_id and c.options ?| spans)
                      and not hasty as plain
               from pgsched.executions e
              where e.partition = p.partition and e.partition between due_to_pull.first and last
                and e.fire_at >= low and e.fire_at <= coalesce(p.until, pgsched.now())
                and (e.lease_token is null or e.lease_owner is null and e.lease_expires_at <= pgsched.now())
                and e.client_id <> all (held) and coalesce(e.plan, 0) <= 0 and (due_to_pull.clients is null or e.client_id = any (due_to_pull.clients))
              order by e.fire_at limit due_to_pull.share for update of e skip locked) due
           limit due_to_pull.wanted) d;
end $$;
comment on function pgsched_internal.due_to_pull(smallint, integer, integer, text[], boolean)
  is 'Locks what is due in a queue, no more than so many and no more than a share of each partition. Called by pgsched.claim.';

-- Row by row: a statement over rows of many partitions would look for its place in each of them anew, and where the
-- statistics are those of an empty table it might read them whole.
create or replace function pgsched.claim(queue text, worker text, batch integer default 1, lease interval default '30 s')
  returns table (id uuid, token bigint, attempt smallint, scheduled_for timestamptz, client text, key text, ordering_key text,
                 job_id uuid, payload jsonb, target text, options jsonb, lease_expires_at timestamptz)
  language plpgsql volatile security definer rows 100 set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  first constant smallint := pgsched_internal.check_claim(queue, worker, batch, lease);
  clients constant text[] := pgsched_internal.clients_acted_for();
  drawn constant bigint := pgsched_internal.new_token(0::smallint);
  until constant timestamptz := pgsched.now() + claim.lease;
  share integer := (claim.batch + 15) / 16;
  lately boolean := true;
  wanted integer := claim.batch;
  count integer;
  due record;
begin
  perform from pgsched.queues q where q.name = claim.queue and q.paused_at is not null;
  if found then
    return;
  end if;
  for round in 1..20 loop
    due := pgsched_internal.due_to_pull(first, wanted, share, clients, lately);
    count := coalesce(cardinality(due.ids), 0);
    for n in 1..count loop
      continue when not (due.plain[n] or pgsched_internal.may_be_handed_out(due.homes[n], due.ids[n]));
      return query
      update pgsched.executions e
         set fire_at = until, scheduled_for = coalesce(e.scheduled_for, e.fire_at), attempt = e.attempt + 1,
             lease_token = drawn | e.partition, lease_expires_at = until, consumer = claim.worker
       where e.partition = due.homes[n] and e.id = due.ids[n]
      returning e.id, e.lease_token, e.attempt, e.scheduled_for::timestamptz, e.client_id::text, e.key::text, e.ordering_key::text,
                e.job_id, e.payload::jsonb, e.target::text, e.options::jsonb, e.lease_expires_at;
      wanted := wanted - 1;
    end loop;
    exit when wanted = 0 or not due.cut and (count < share and not false = any (due.plain) or count = 0);
    lately := lately and count > 0;
    share := claim.batch;
  end loop;
end $$;
comment on function pgsched.claim(text, text, integer, interval)
  is 'Hands out what is due in a queue that is pulled, no more than batch, each under a lease and a token: what is not completed, failed,
extended or released (pgsched.complete and so on) by then, the next claim has. Worker says who claims. Gives a client''s role its own
executions alone. PS010 for an unknown queue, PS011 for one that workers serve.';
