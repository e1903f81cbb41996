-- How consumers and targets report on the executions that they hold: an execution is completed, failed, extended or
-- handed back. Each call presents the token of the lease. A call waits for a lock only briefly; after that, its report
-- is stored.

create or replace function pgsched.complete(id uuid, token bigint, result jsonb default null) returns void
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  taken record;
begin
  perform pgsched_internal.check_result(complete.result, 'store it elsewhere and give a reference to it');
  taken := pgsched_internal.take_in_hand(complete.id, complete.token);
  if taken.is_free and pgsched_internal.end_in_hand(taken.held, 'succeeded', complete.result, null, tried => true, waits => true) then
    return;
  end if;
  perform pgsched_internal.note_result('complete', taken.held, complete.token, result => complete.result);
end $$;
comment on function pgsched.complete(uuid, bigint, jsonb)
  is 'Reports the success of an execution that was claimed, or deferred by its target, and stores its result. If another
transaction has locked its row or its job, the report is stored, and recorded once the lock is free. Raises PS013 if the
execution has ended or another consumer now has it, and PS010 if it is unknown.';

create or replace function pgsched.fail(
  id uuid, token bigint, error text, retryable boolean default true, retry_after interval default null
) returns pgsched.execution_status
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  taken record;
  status pgsched.execution_status;
begin
  if coalesce(fail.error, '') = '' then
    perform pgsched_internal.refuse('PS000', 'the error is missing', 'write error => ''the printer is out of paper''');
  elsif octet_length(fail.error) > 65536 then
    perform pgsched_internal.refuse('PS000', 'the error is over the limit of 64 KiB', 'shorten it; only the first 2000 characters are kept');
  elsif fail.retryable is null then
    perform pgsched_internal.refuse('PS000', 'retryable must be true or false', 'write retryable => false if a retry would not help');
  elsif fail.retry_after < interval '0' then
    perform pgsched_internal.refuse('PS000', 'retry_after is negative', 'write retry_after => ''10 minutes'', or leave it out');
  end if;
  taken := pgsched_internal.take_in_hand(fail.id, fail.token);
  if taken.is_free then
    status := pgsched_internal.fail_in_hand(taken.held, fail.error, fail.retryable, fail.retry_after, waits => true);
  end if;
  if status is null then
    perform pgsched_internal.note_result('fail', taken.held, fail.token, error => fail.error, retryable => fail.retryable, retry_after => fail.retry_after);
    status := (pgsched_internal.decide_failure(taken.held, fail.error, fail.retryable, fail.retry_after)).status;
  end if;
  return status;
end $$;
comment on function pgsched.fail(uuid, bigint, text, boolean, interval)
  is 'Reports the failure of an execution that was claimed, or deferred by its target, with the error. Returns what its
options decide: retrying, failed or expired. The execution is not retried before retry_after (at most 24 hours) has
passed. If another transaction has locked its row or its job, the report is stored, and recorded once the lock is free.
Raises PS013 if the execution has ended or another consumer now has it, and PS010 if it is unknown.';

create or replace function pgsched_internal.check_lease(lease interval) returns boolean language plpgsql immutable parallel safe as $$
begin
  if lease is null or lease not between interval '1 s' and interval '7 days' or date_trunc('month', lease) <> interval '0' then
    return pgsched_internal.refuse('PS000', 'the lease must be from 1 second to 7 days, and cannot be given in months', 'write lease => ''30 s'', and extend it if that is not enough');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_lease(interval)
  is 'True for a valid lease length; raises PS000 otherwise.';

create or replace function pgsched.extend(id uuid, token bigint, lease interval default '30 s') returns timestamptz
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  until timestamptz;
  taken record;
begin
  perform pgsched_internal.check_lease(extend.lease);
  until := pgsched.now() + extend.lease;
  taken := pgsched_internal.take_in_hand(extend.id, extend.token);
  if (taken.held).lease_owner is not null then
    perform pgsched_internal.refuse('PS011', format('the target has not yet responded to the call of execution %s', (taken.held).id), 'respond with 202 first');
  elsif not taken.is_free then
    return (taken.held).lease_expires_at;
  end if;
  update pgsched.executions e set lease_expires_at = until, fire_at = until where e.partition = (taken.held).partition and e.id = (taken.held).id;
  return until;
end $$;
comment on function pgsched.extend(uuid, bigint, interval)
  is 'Extends the lease of an execution that was claimed, or deferred by its target, to this long from now. Returns the
end of the lease. If another transaction has locked the row, the lease stays unchanged. Raises PS013 if the execution
has ended or another consumer now has it, and PS010 if it is unknown.';

create or replace function pgsched_internal.hand_back(held pgsched.executions) returns void language plpgsql volatile as $$
begin
  update pgsched.executions e
     set fire_at = pgsched.now(), lease_token = null, lease_expires_at = null, consumer = null, attempt = e.attempt - 1,
         uncounted = coalesce(e.uncounted, 0) + 1
   where e.partition = held.partition and e.id = held.id;
  perform pgsched_internal.notify_wake(held.partition, pgsched.now());
end $$;
comment on function pgsched_internal.hand_back(pgsched.executions)
  is 'Makes a locked execution wait again, as if it had not been claimed.';

create or replace function pgsched.release(id uuid, token bigint) returns void
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  taken record;
begin
  perform from pgsched.blocked_keys b
    where b.execution_id = release.id and b.token = release.token and pgsched_internal.acts_for(b.client_id) for update skip locked;
  if found then
    perform pgsched_internal.unblock_after(array[release.id]);
    return;
  end if;
  taken := pgsched_internal.take_in_hand(release.id, release.token);
  if (taken.held).target <> 'queue:' then
    perform pgsched_internal.refuse('PS011', format('execution %s was deferred, not claimed, and cannot be released', (taken.held).id), 'call pgsched.fail instead');
  elsif taken.is_free and not exists (
      select from pgsched_internal.results_to_record r where r.execution_id = (taken.held).id and r.token = release.token) then
    perform pgsched_internal.hand_back(taken.held);
  else
    perform pgsched_internal.note_result('release', taken.held, release.token);
  end if;
end $$;
comment on function pgsched.release(uuid, bigint)
  is 'Hands an execution back as if it had not been claimed. If another transaction has locked its row, it is handed
back once the lock is free. If the execution was cancelled in the meantime, the next execution with its ordering key
gets its turn. Raises PS013 if the execution has ended or another consumer now has it, PS010 if it is unknown, and PS011
if its target deferred it.';
