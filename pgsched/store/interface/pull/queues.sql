-- Queues that consumers pull from. A claim hands out due executions under a lease, earliest first in each partition.
-- The fire_at of a leased row is the end of its lease, when the row is due again, so claims do not read rows that other
-- consumers hold.

create or replace function pgsched_internal.check_pulled(target text, queue text) returns boolean language plpgsql stable parallel safe as $$
declare
  pulled boolean;
begin
  select q.pulled into pulled from pgsched.queues q where q.name = check_pulled.queue;
  if check_pulled.target = 'queue:' and not pulled then
    return pgsched_internal.refuse('PS001', format('a queue: target needs a queue that consumers pull from, but workers serve the queue %L', check_pulled.queue),
      'name a pulled queue, or write a target that workers can call');
  elsif check_pulled.target <> 'queue:' and pulled then
    return pgsched_internal.refuse('PS001', format('consumers pull from the queue %L, so no worker would call %L', check_pulled.queue, left(check_pulled.target, 100)),
      'write target => ''queue:'', or name a queue that workers serve');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_pulled(text, text)
  is 'True if a target fits a queue: targets that begin with queue: need a pulled queue, and all others a queue that
workers serve. Raises PS001 otherwise.';

create or replace function pgsched_internal.queue_to_tell(partition smallint, told text) returns smallint language sql stable parallel safe as $$
  select case when told <> 'queue:' and (select q.pulled from pgsched.queues q where q.first_partition = pgsched_internal.first_partition_of(partition))
              then 0::smallint else pgsched_internal.first_partition_of(partition) end
$$;
comment on function pgsched_internal.queue_to_tell(smallint, text)
  is 'The first partition of the queue through which an end in this partition is reported to a target: this partition''s
queue or, if that queue is pulled and a worker has to call the target, the queue default.';

create or replace function pgsched_internal.check_claim(queue text, worker text, batch integer, lease interval) returns smallint
  language plpgsql stable parallel safe as $$
declare
  found pgsched.queues;
begin
  select * into found from pgsched.queues q where q.name = check_claim.queue;
  if found.name is null then
    perform pgsched_internal.refuse('PS010', format('there is no queue %L', check_claim.queue), 'the names are in pgsched.queues');
  elsif not found.pulled then
    perform pgsched_internal.refuse('PS011', format('workers serve the queue %L, so consumers cannot claim from it', check_claim.queue), 'claim from a pulled queue');
  elsif worker is null or length(worker) not between 1 and 200 then
    perform pgsched_internal.refuse('PS000', '"worker" must be text of 1 to 200 characters', 'write the name of the consumer, such as worker => ''svc-1''');
  elsif batch is null or batch not between 1 and 1000 then
    perform pgsched_internal.refuse('PS000', 'batch must be from 1 to 1000', 'write batch => 100');
  end if;
  perform pgsched_internal.check_lease(lease);
  return found.first_partition;
end $$;
comment on function pgsched_internal.check_claim(text, text, integer, interval)
  is 'The first partition of the queue, if a claim with these arguments is valid; raises PS000, PS010 or PS011
otherwise.';

-- fire_at is always the instant from which a claim may take the row, even if the row is leased.
create or replace function pgsched_internal.until_next(queue text) returns double precision language plpgsql volatile
  set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  first constant smallint := (select q.first_partition from pgsched.queues q where q.name = until_next.queue and q.paused_at is null);
  earliest timestamptz;
begin
  if first is null then
    return null;
  end if;
  execute 'select min(due.fire_at) from (' || string_agg(format(
      '(select e.fire_at from %s e.partition = %s and e.fire_at < ''infinity'' order by e.fire_at limit 1)',
      pgsched_internal.in_partition(p), p), ' union all ') || ') due'
    from pgsched_internal.partitions_of(first) p into earliest;
  return extract(epoch from earliest - clock_timestamp());
end $$;
comment on function pgsched_internal.until_next(text)
  is 'The number of seconds until the next execution of a queue is due; negative if it is overdue, null if nothing waits
or the queue is paused.';

-- Runs in transactions of clients. So it waits neither for the lock on the partition's ordering, which belongs to the
-- workers, nor for a transaction that is making another execution the head of the key. Workers release an execution
-- that is held unnecessarily as a result.
create or replace function pgsched_internal.take_turn(waiting pgsched.executions) returns boolean language plpgsql volatile as $$
declare
  patience constant text := current_setting('lock_timeout');
  first uuid;
begin
  select e.id into first from pgsched.executions e
   where e.partition = waiting.partition and e.client_id = waiting.client_id and e.ordering_key = waiting.ordering_key and e.at_head;
  if first is null and not exists (select from pgsched.blocked_keys b
       where b.client_id = waiting.client_id and b.ordering_key = waiting.ordering_key and b.partition = waiting.partition
         and (b.until is null or b.until > pgsched.now())) then
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
    exception when lock_not_available or unique_violation then null;  -- another execution is the head
    end;
  end if;
  update pgsched.executions e
     set gate = 'order', fire_at = 'infinity', scheduled_for = coalesce(e.scheduled_for, e.fire_at),
         waits = pgsched_internal.held(e.waits, 'order', e.fire_at), held_until = pgsched_internal.held_until(e)
   where e.partition = waiting.partition and e.id = waiting.id;
  perform pgsched_internal.notify_unless_silent('turns');
  return false;
end $$;
comment on function pgsched_internal.take_turn(pgsched.executions)
  is 'True if it is this execution''s turn under its ordering key; the execution then becomes the head. Otherwise, the
execution is held behind the others.';

-- A lease that has run out is first put in doubt: the row becomes due again a moment later, and until then its holder
-- may still extend or settle it. So a consumer does not lose an execution because its process pauses or the clock
-- changes. While a lease is in doubt, fire_at is after the end of the lease; extending the lease makes them equal
-- again.
create or replace function pgsched_internal.is_lost(held pgsched.executions) returns boolean language plpgsql volatile as $$
begin
  if held.fire_at > held.lease_expires_at then
    return true;
  end if;
  update pgsched.executions e set fire_at = pgsched.now() + interval '5 seconds'
   where e.partition = held.partition and e.id = held.id;
  return false;
end $$;
comment on function pgsched_internal.is_lost(pgsched.executions)
  is 'True if the expired lease of a locked execution is already in doubt. If not, puts the lease in doubt, and returns
false.';

-- Handles executions that cannot simply be leased: their lease has run out, their time is over, consumers cannot pull
-- their target, or it may not be their turn.
create or replace function pgsched_internal.may_be_handed_out(partition smallint, id uuid) returns boolean language plpgsql volatile as $$
declare
  waiting pgsched.executions;
  late record;
  is_dealt_with boolean;
begin
  select * into waiting from pgsched.executions e where e.partition = may_be_handed_out.partition and e.id = may_be_handed_out.id;
  if waiting.lease_token is not null then
    is_dealt_with := not pgsched_internal.is_lost(waiting) or pgsched_internal.lose_in_hand(waiting);
  elsif waiting.target <> 'queue:' then
    is_dealt_with := pgsched_internal.end_in_hand(waiting, 'failed', null,
      'consumers pull from this queue, so no worker calls its targets: schedule them in a queue that workers serve', tried => false);
  else
    late := pgsched_internal.lateness(
      pgsched_internal.options_of(waiting.options, waiting.client_id, waiting.partition, waiting.plan), waiting.attempt + 1,
      extract(epoch from pgsched.now() - coalesce(waiting.start_at, waiting.scheduled_for, waiting.fire_at))::float8);
    if late.status is null then
      return waiting.ordering_key is null or pgsched_internal.take_turn(waiting);
    end if;
    is_dealt_with := pgsched_internal.end_in_hand(waiting, late.status, null, late.reason, tried => false);
  end if;
  if not is_dealt_with then
    raise lock_not_available using message = format('rows that must be written when execution %s ends are locked', may_be_handed_out.id);
  end if;
  return false;
end $$;
comment on function pgsched_internal.may_be_handed_out(smallint, uuid)
  is 'True if a consumer may have this locked due execution. If false, the execution has ended, waits or is held.';

