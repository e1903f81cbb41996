-- Results of executions that no worker has in hand: those claimed by a consumer, and those whose target answered that it
-- will complete them later. They are leased to nobody's number (lease_owner is null) and stand at the end of their lease.
-- Whoever has the token may say what became of them. It carries the partition in its last fifteen bits, so that one table
-- is looked at; the rest is drawn, so that nobody guesses it. Plans are made for that partition: one that is kept would lock
-- all of them until the caller's transaction ends.

create or replace function pgsched_internal.new_token(partition smallint) returns bigint language sql volatile parallel safe as $$
  select ('x' || translate(left(gen_random_uuid()::text, 13), '-', ''))::bit(48)::bigint << 15 | partition
$$;
comment on function pgsched_internal.new_token(smallint) is 'A token for the lease of an execution in this partition, which nobody can guess.';

create or replace function pgsched_internal.take_in_hand(id uuid, token bigint) returns pgsched.executions
  language plpgsql volatile as $$
declare
  home smallint := (take_in_hand.token & 32767)::smallint;
  held pgsched.executions;
begin
  if num_nulls(take_in_hand.id, take_in_hand.token) > 0 then
    perform pgsched_internal.refuse('PS000', 'the id or the token is missing', 'give both, as they came with the execution');
  end if;
  select * into held from pgsched.executions e
   where e.partition = home and e.id = take_in_hand.id and e.lease_token = take_in_hand.token
     and (e.lease_owner is null or e.options ? 'deferred') for update;  -- what a worker alone has in hand it settles itself
  if held.id is not null then
    if not pgsched_internal.acts_for(held.client_id) then
      perform pgsched_internal.refuse('PS012', format('%I may not settle executions of client %L', pgsched_internal.acting_role(), held.client_id),
        'act as a role of that client');
    end if;
    return held;
  end if;
  home := pgsched_internal.partition_with(take_in_hand.id);
  perform from pgsched.executions e
    where e.partition = home and e.id = take_in_hand.id and pgsched_internal.acts_for(e.client_id);
  if not found and not pgsched_internal.has_ended(take_in_hand.id) then  -- unknown, or another client's
    perform pgsched_internal.refuse('PS010', format('there is no execution %s', take_in_hand.id), 'give the id that came with the token');
  end if;
  perform pgsched_internal.refuse('PS013', format('execution %s is not yours any more: it has ended, or its lease ran out and another has it',
    take_in_hand.id), 'drop the result; to keep what takes long, extend its lease');
end $$;
comment on function pgsched_internal.take_in_hand(uuid, bigint)
  is 'The execution that is leased under this token, locked; PS013 where it is so no more, PS010 for an unknown one, PS012 where it is
another client''s.';

create or replace function pgsched_internal.end_in_hand(
  held pgsched.executions, status pgsched.execution_status, result jsonb, reason text, tried boolean
) returns void language plpgsql volatile as $$
declare
  nominal constant timestamptz := coalesce(held.scheduled_for, held.fire_at);
  keep pgsched.keep;
begin
  delete from pgsched.executions e where e.partition = held.partition and e.id = held.id;
  if tried and status <> 'succeeded' then
    insert into pgsched.attempts (finished_at, execution_id, attempt, client_id, error)
    values (pgsched.now(), held.id, held.attempt, held.client_id, end_in_hand.reason)
    on conflict do nothing;
  end if;
  select c.keep into keep from pgsched.clients c where c.client_id = held.client_id;
  if held.key is not null or held.awaited or coalesce(keep, 'all') = 'all' or keep = 'failures' and status <> 'succeeded' then
    insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, job_id, status, plan, partition, attempt,
                                 client_id, target, payload, options, key, ordering_key, awaited, result, reason)
    values (pgsched.now(), least(held.fire_at, pgsched.now()), nominal, held.created_at, held.id, held.job_id,
            end_in_hand.status, held.plan, held.partition, held.attempt, held.client_id, held.target, held.payload,
            held.options, held.key, held.ordering_key, held.awaited, end_in_hand.result, end_in_hand.reason);
  end if;
  if status = 'failed' or held.options ?| array['on_success', 'on_failure', 'on_expired'] then
    perform pgsched_internal.tell_outcome(held.id, held.job_id, held.client_id, held.key, held.target, held.options, held.partition,
      nominal, held.attempt, status, null, result, reason);
  end if;
  if held.job_id is not null and coalesce(held.plan, 1) <> 0
     and exists (select from pgsched.jobs j where j.id = held.job_id and j.rules ? 'pause_after') then
    perform pgsched_internal.count_outcome(held.job_id, status);
  end if;
  if held.awaited then
    perform pgsched_internal.notify_release();
  end if;
  if held.ordering_key is not null then
    if status = 'failed' and held.options ->> 'ordering' = 'block' then
      perform pgsched_internal.block_key(held.partition, held.client_id, held.ordering_key, held.id, reason);
    end if;
    perform pgsched_internal.let_next(held.partition, held.client_id, held.ordering_key);
    perform pgsched_internal.notify_turns();
  end if;
end $$;
comment on function pgsched_internal.end_in_hand(pgsched.executions, pgsched.execution_status, jsonb, text, boolean)
  is 'Moves an execution that is locked into history, with what its end brings about, as the settle of a worker does; tried says
whether its last attempt took place.';

create or replace function pgsched_internal.fail_in_hand(
  held pgsched.executions, error text, retryable boolean, retry_after interval, at_once boolean default false
) returns pgsched.execution_status language plpgsql volatile as $$
declare
  allowed constant jsonb := pgsched_internal.options_of(held);
  options constant jsonb := case when at_once
    then allowed - 'backoff' || jsonb_build_object('max_attempts', pgsched_internal.attempts_allowed(allowed)) else allowed end;
  age constant double precision := extract(epoch from pgsched.now() - coalesce(held.scheduled_for, held.fire_at));
  decided record;
begin
  decided := pgsched_internal.after_failure(options, held.attempt, age, error, retryable, retry_after,
    case when not at_once then random() end);
  if decided.status <> 'retrying' then
    perform pgsched_internal.end_in_hand(held, decided.status, null, decided.reason, tried => true);
    return decided.status;
  end if;
  update pgsched.executions e
     set fire_at = pgsched.now() + make_interval(secs => decided.delay), scheduled_for = coalesce(e.scheduled_for, e.fire_at),
         lease_owner = null, lease_token = null, lease_expires_at = null, consumer = null
   where e.partition = held.partition and e.id = held.id;
  insert into pgsched.attempts (finished_at, execution_id, attempt, client_id, error)
  values (pgsched.now(), held.id, held.attempt, held.client_id, decided.reason)
  on conflict do nothing;
  perform pgsched_internal.notify_wake(held.partition, pgsched.now() + make_interval(secs => decided.delay));
  return 'retrying';
end $$;
comment on function pgsched_internal.fail_in_hand(pgsched.executions, text, boolean, interval, boolean)
  is 'Records the failed try of an execution that is locked, which then waits for the next one or ends, as its options say.';

-- A consumer that is gone has not failed at it: the next one may have it at once. A target that does not complete what it
-- took has, and the policy says when it is called again.
create or replace function pgsched_internal.lose_in_hand(held pgsched.executions) returns pgsched.execution_status
  language plpgsql volatile as $$
begin
  if held.target = 'queue:' then
    return pgsched_internal.fail_in_hand(held, format('the lease of %s ran out', coalesce(held.consumer, 'its consumer')), true, null, at_once => true);
  end if;
  return pgsched_internal.fail_in_hand(held, format('answered 202 and was not completed by %s',
    to_char(held.lease_expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')), true, null);
end $$;
comment on function pgsched_internal.lose_in_hand(pgsched.executions) is 'The same for one whose lease ran out.';

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
      perform pgsched_internal.lose_in_hand(held);
      count := count + 1;
    exception when others then
      if not pgsched_internal.is_of_a_row(sqlstate) then
        raise;
      elsif not pgsched_internal.is_a_lock(sqlstate) then  -- a later turn finds what is locked as it is
        perform pgsched_internal.put_away(held.partition, held.id, sqlerrm);
      end if;
    end;
  end loop;
  return count;
end $$;
comment on function pgsched_internal.reap_in_hand(smallint, integer, timestamptz)
  is 'Takes back what no worker has in hand and whose lease had run out by a moment, of so many due executions of a partition; returns how many.';

create or replace function pgsched.complete(id uuid, token bigint, result jsonb default null) returns void
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
begin
  perform pgsched_internal.check_result(complete.result, 'store it elsewhere and give a reference to it');
  perform pgsched_internal.end_in_hand(pgsched_internal.take_in_hand(complete.id, complete.token), 'succeeded', complete.result, null, tried => true);
end $$;
comment on function pgsched.complete(uuid, bigint, jsonb)
  is 'Says that an execution which was claimed, or deferred by its target, has succeeded, and what came of it. PS013 where another has
it by now or it has ended, PS010 for an unknown one.';

create or replace function pgsched.fail(
  id uuid, token bigint, error text, retryable boolean default true, retry_after interval default null
) returns pgsched.execution_status
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
begin
  if coalesce(fail.error, '') = '' then
    perform pgsched_internal.refuse('PS000', 'the error is missing', 'write error => ''the printer is out of paper''');
  elsif octet_length(fail.error) > 65536 then
    perform pgsched_internal.refuse('PS000', 'the error is over the limit of 64 KiB', 'write what happened; 2000 characters of it are kept');
  elsif fail.retryable is null then
    perform pgsched_internal.refuse('PS000', 'retryable must be true or false', 'write retryable => false for what no further try would change');
  elsif fail.retry_after < interval '0' then
    perform pgsched_internal.refuse('PS000', 'retry_after is negative', 'write retry_after => ''10 minutes'', or leave it out');
  end if;
  return pgsched_internal.fail_in_hand(pgsched_internal.take_in_hand(fail.id, fail.token), fail.error, fail.retryable, fail.retry_after);
end $$;
comment on function pgsched.fail(uuid, bigint, text, boolean, interval)
  is 'Says that an execution which was claimed, or deferred by its target, has failed, and why; its options say what becomes of it,
which is returned: retrying, failed or expired. It is not tried again before retry_after (24 hours at the most) has passed. PS013
where another has it by now or it has ended, PS010 for an unknown one.';

create or replace function pgsched_internal.check_lease(lease interval) returns boolean language plpgsql immutable parallel safe as $$
begin
  if lease is null or lease not between interval '1 s' and interval '7 days' then
    return pgsched_internal.refuse('PS000', 'the lease must be from 1 second to 7 days', 'write lease => ''30 s'', and extend it for what takes longer');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_lease(interval) is 'True for how long an execution may be leased; raises PS000 otherwise.';

create or replace function pgsched.extend(id uuid, token bigint, lease interval default '30 s') returns timestamptz
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  until constant timestamptz := pgsched.now() + extend.lease;
  held pgsched.executions;
begin
  perform pgsched_internal.check_lease(extend.lease);
  held := pgsched_internal.take_in_hand(extend.id, extend.token);
  if held.lease_owner is not null then
    perform pgsched_internal.refuse('PS011', format('the call of execution %s has not been answered yet', held.id), 'answer it with 202 first');
  end if;
  update pgsched.executions e set lease_expires_at = until, fire_at = until where e.partition = held.partition and e.id = held.id;
  return until;
end $$;
comment on function pgsched.extend(uuid, bigint, interval)
  is 'Keeps an execution which was claimed, or deferred by its target, for so long from now; returns until when. PS013 where another has
it by now or it has ended, PS010 for an unknown one.';

create or replace function pgsched.release(id uuid, token bigint) returns void
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  held constant pgsched.executions := pgsched_internal.take_in_hand(release.id, release.token);
begin
  if held.target <> 'queue:' then
    perform pgsched_internal.refuse('PS011', format('execution %s was deferred, and not claimed', held.id), 'let it fail: pgsched.fail');
  end if;
  update pgsched.executions e
     set fire_at = pgsched.now(), lease_token = null, lease_expires_at = null, consumer = null, attempt = e.attempt - 1
   where e.partition = held.partition and e.id = held.id;
  perform pgsched_internal.notify_wake(held.partition, pgsched.now());
end $$;
comment on function pgsched.release(uuid, bigint)
  is 'Hands an execution back as if it had not been claimed. PS013 where another has it by now or it has ended, PS010 for an
unknown one, PS011 for one that a target deferred.';
