-- Settles executions that no worker holds, because a consumer has claimed them, or because their target has answered
-- that it will complete them later. Such executions are leased without an owner (lease_owner is null), and their
-- fire_at is the end of the lease. Whoever has the token may report the result. The last fifteen bits of the token are
-- the partition; the other bits are random, so that the token cannot be guessed. Statements are planned for that
-- partition, because a cached plan would lock all partitions until the caller's transaction ends.

create or replace function pgsched_internal.new_token(partition smallint) returns bigint language sql volatile parallel safe as $$
  select ('x' || translate(left(gen_random_uuid()::text, 13), '-', ''))::bit(48)::bigint << 15 | partition
$$;
comment on function pgsched_internal.new_token(smallint)
  is 'A token that cannot be guessed, for the lease of an execution in this partition.';

-- Leaves out an execution whose lease ran out a while ago: if its row is locked, the execution is about to be handed to
-- another consumer.
create or replace function pgsched_internal.still_in_hand(partition smallint, id uuid, token bigint) returns pgsched.executions
  language plpgsql volatile as $$
declare
  held pgsched.executions;
begin
  select * into held from pgsched.executions e
   where e.partition = still_in_hand.partition and e.id = still_in_hand.id and e.lease_token = still_in_hand.token
     and (e.lease_owner is null and not (e.fire_at > e.lease_expires_at and e.fire_at <= pgsched.now()) or e.options ? 'deferred');
  return held;
end $$;
comment on function pgsched_internal.still_in_hand(smallint, uuid, bigint)
  is 'The execution that is still leased under this token; null if there is none. Locks nothing.';

-- Consumers' claims briefly lock rows that other claims have just taken, so a short wait is useful. But a client's
-- transaction may stay open for long: if results of that client are already stored, this function does not wait again.
create or replace function pgsched_internal.wait_for_row(held pgsched.executions) returns boolean
  language plpgsql volatile set lock_timeout = '50ms' as $$
begin
  if exists (select from pgsched_internal.results_to_record r where r.client_id = held.client_id) then
    return false;
  end if;
  perform from pgsched.executions e where e.partition = held.partition and e.id = held.id and e.lease_token = held.lease_token for update;
  return found;
exception when lock_not_available then
  return false;
end $$;
comment on function pgsched_internal.wait_for_row(pgsched.executions)
  is 'Waits a moment to lock an execution that another transaction has locked. True if it was locked in time.';

-- Waits only a moment: a client's transaction may have locked the row, and the caller has executions of other clients
-- to settle.
create or replace function pgsched_internal.take_in_hand(id uuid, token bigint, out held pgsched.executions, out is_free boolean)
  language plpgsql volatile as $$
declare
  home smallint := (take_in_hand.token & 32767)::smallint;
begin
  if num_nulls(take_in_hand.id, take_in_hand.token) > 0 then
    perform pgsched_internal.refuse('PS000', 'the id or the token is missing', 'give both, as they came with the execution');
  end if;
  select * into held from pgsched.executions e
   where e.partition = home and e.id = take_in_hand.id and e.lease_token = take_in_hand.token
     -- Workers settle the executions that they hold
     and (e.lease_owner is null or e.options ? 'deferred') for update skip locked;
  is_free := held.id is not null;
  if not is_free then
    held := pgsched_internal.still_in_hand(home, take_in_hand.id, take_in_hand.token);
  end if;
  if held.id is not null and not pgsched_internal.acts_for(held.client_id) then
    perform pgsched_internal.refuse('PS012', format('%I is not allowed to settle executions of client %L', pgsched_internal.acting_role(), held.client_id),
      'use SET ROLE to switch to a role that belongs to that client');
  elsif held.id is not null and not is_free then
    is_free := pgsched_internal.wait_for_row(held);
    held := pgsched_internal.still_in_hand(home, take_in_hand.id, take_in_hand.token);
  end if;
  if held.id is not null then
    return;
  end if;
  home := pgsched_internal.partition_with(take_in_hand.id);
  perform from pgsched.executions e
    where e.partition = home and e.id = take_in_hand.id and pgsched_internal.acts_for(e.client_id);
  if not found and not pgsched_internal.has_ended(take_in_hand.id) then  -- unknown, or of another client
    perform pgsched_internal.refuse('PS010', format('there is no execution %s', take_in_hand.id), 'give the id that came with the token');
  end if;
  perform pgsched_internal.refuse('PS013', format('execution %s is no longer yours: it has ended, or its lease ran out and another consumer has it',
    take_in_hand.id), 'drop the result; extend the lease of long executions');
end $$;
comment on function pgsched_internal.take_in_hand(uuid, bigint)
  is 'Returns the execution that is leased under this token, locked unless another transaction has locked it. Raises
PS013 if the execution is no longer leased under this token, PS010 if it is unknown, and PS012 if it belongs to another
client.';

create or replace function pgsched_internal.write_end(
  held pgsched.executions, status pgsched.execution_status, result jsonb, reason text, tried boolean
) returns void language plpgsql volatile as $$
begin
  delete from pgsched.executions e where e.partition = held.partition and e.id = held.id;
  if tried and status <> 'succeeded' then
    insert into pgsched.attempts (finished_at, execution_id, attempt, client_id, error)
    values (pgsched.now(), held.id, held.attempt, held.client_id, write_end.reason)
    on conflict do nothing;
  end if;
  perform pgsched_internal.end_execution(held, status, reason, result => write_end.result, lets_next => true);
end $$;
comment on function pgsched_internal.write_end(pgsched.executions, pgsched.execution_status, jsonb, text, boolean)
  is 'Moves a locked execution to history and does what follows from its end; called by end_in_hand.';

-- An end also writes the job, which counts its failures, and the row that blocks the ordering key. A client's
-- transaction may have locked either of them, or a whole table, and may stay open for long: if results of that client
-- are already stored, this function does not wait again.
create or replace function pgsched_internal.end_in_hand(
  held pgsched.executions, status pgsched.execution_status, result jsonb, reason text, tried boolean, waits boolean default false
) returns boolean language plpgsql volatile as $$
declare
  before constant text := current_setting('lock_timeout');
begin
  if (held.job_id is null or coalesce(held.plan, 1) = 0) and (status <> 'failed' or held.ordering_key is null) then
    perform pgsched_internal.write_end(held, status, result, reason, tried);
    return true;
  end if;
  begin
    perform set_config('lock_timeout', case when waits and not exists (
      select from pgsched_internal.results_to_record r where r.client_id = held.client_id) then '50ms' else '1ms' end, true);
    perform pgsched_internal.write_end(held, status, result, reason, tried);
    perform set_config('lock_timeout', before, true);
    return true;
  exception when lock_not_available then return false;
  end;
end $$;
comment on function pgsched_internal.end_in_hand(pgsched.executions, pgsched.execution_status, jsonb, text, boolean, boolean)
  is 'Moves a locked execution to history and does what follows from its end, as a worker''s settle does. tried is false
if its last attempt did not take place. Returns false, and changes nothing, if another row that the end writes is
locked; if waits is true, first waits a moment for the lock.';

create or replace function pgsched_internal.decide_failure(
  held pgsched.executions, error text, retryable boolean, retry_after interval, at_once boolean default false,
  out status pgsched.execution_status, out delay double precision, out reason text
) language sql volatile as $$
  select * from pgsched_internal.decide('failed', error, retryable, extract(epoch from retry_after)::float8, held.attempt,
    extract(epoch from pgsched.now() - coalesce(held.start_at, held.scheduled_for, held.fire_at))::float8, held.options, held.client_id, held.partition,
    held.plan, case when not at_once then random() end)
$$;
comment on function pgsched_internal.decide_failure(pgsched.executions, text, boolean, interval, boolean)
  is 'Decides what happens to an execution after a failed attempt, according to its options.';

create or replace function pgsched_internal.fail_in_hand(
  held pgsched.executions, error text, retryable boolean, retry_after interval, at_once boolean default false,
  waits boolean default false
) returns pgsched.execution_status language plpgsql volatile as $$
declare
  decided constant record := pgsched_internal.decide_failure(held, error, retryable, retry_after, at_once);
begin
  if decided.status <> 'retrying' then
    return case when pgsched_internal.end_in_hand(held, decided.status, null, decided.reason, tried => true, waits => fail_in_hand.waits)
                then decided.status end;
  end if;
  update pgsched.executions e
     set fire_at = pgsched.now() + make_interval(secs => decided.delay), scheduled_for = coalesce(e.scheduled_for, e.fire_at),
         lease_owner = null, lease_token = null, lease_expires_at = null, consumer = null, reason = decided.reason
   where e.partition = held.partition and e.id = held.id;
  insert into pgsched.attempts (finished_at, execution_id, attempt, client_id, error)
  values (pgsched.now(), held.id, held.attempt, held.client_id, decided.reason)
  on conflict do nothing;
  perform pgsched_internal.notify_wake(held.partition, pgsched.now() + make_interval(secs => decided.delay));
  return 'retrying';
end $$;
comment on function pgsched_internal.fail_in_hand(pgsched.executions, text, boolean, interval, boolean, boolean)
  is 'Records a failed attempt of a locked execution, which then waits for its next attempt or ends, as its options say.
Returns null, and changes nothing, if another row that its end writes is locked; if waits is true, first waits a moment
for the lock.';

-- An execution has not failed because its consumer is gone, so the next consumer can have it at once. But if a target
-- has accepted an execution and not completed it, the attempt has failed, and the retry policy applies. If a result was
-- stored in time, the lease does not count as lost.
create or replace function pgsched_internal.lose_in_hand(held pgsched.executions) returns boolean language plpgsql volatile as $$
declare
  noted pgsched_internal.results_to_record;
begin
  select * into noted from pgsched_internal.results_to_record r
   where r.execution_id = held.id and r.token = held.lease_token order by r.noted_at limit 1;
  if noted.id is not null then
    return pgsched_internal.record_in_hand(held, noted);
  elsif held.target = 'queue:' then
    return pgsched_internal.fail_in_hand(held, format('the lease of %s ran out', coalesce(held.consumer, 'its consumer')), true, null, at_once => true) is not null;
  end if;
  return pgsched_internal.fail_in_hand(held, format('the target responded with 202, but the execution was not completed by %s',
    to_char(held.lease_expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')), true, null) is not null;
end $$;
comment on function pgsched_internal.lose_in_hand(pgsched.executions)
  is 'Handles an execution whose lease has run out. Returns false, and changes nothing, if another row that its end
writes is locked.';

create or replace function pgsched_internal.reap_in_hand(partition smallint, most integer, ended_by timestamptz) returns integer
  language plpgsql volatile as $$
declare
  lost uuid[];
  held pgsched.executions;
  count integer := 0;
begin
  lost := array(select edge.id from (select e.id, e.lease_token, e.lease_owner, e.lease_expires_at from pgsched.executions e
                                      where e.partition = reap_in_hand.partition and e.fire_at <= pgsched.now()
                                      order by e.fire_at limit most) edge
                 where edge.lease_token is not null and edge.lease_owner is null and edge.lease_expires_at <= reap_in_hand.ended_by);
  for held in
    select * from pgsched.executions e where e.partition = reap_in_hand.partition and e.id = any (lost)
       and e.lease_token is not null and e.lease_owner is null and e.lease_expires_at <= reap_in_hand.ended_by
       for update skip locked
  loop
    begin
      count := count + pgsched_internal.lose_in_hand(held)::integer;
    exception when others then
      if not pgsched_internal.is_of_a_row(sqlstate) then
        raise;
      elsif not pgsched_internal.is_a_lock(sqlstate) then  -- a later pass finds a locked row unchanged
        perform pgsched_internal.put_away(held.partition, held.id, sqlerrm);
      end if;
    end;
  end loop;
  return count;
end $$;
comment on function pgsched_internal.reap_in_hand(smallint, integer, timestamptz)
  is 'Takes back executions that no worker holds and whose leases had run out by a given moment. Examines a limited
number of the partition''s due executions. Returns how many it took back.';
