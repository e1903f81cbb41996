-- Stores results that cannot be recorded because the execution's row, or another row that its end writes, is locked. A
-- worker records each result once the lock is free. A consumer serves many clients, so an open transaction of one
-- client must not delay the others. If the execution has ended by then, or has another holder, the result is dropped.

create or replace function pgsched_internal.note_result(
  verb text, held pgsched.executions, token bigint, result jsonb default null, error text default null, retryable boolean default null,
  retry_after interval default null
) returns void language plpgsql volatile as $$
begin
  if exists (select from pgsched_internal.results_to_record r where r.execution_id = held.id and r.token = note_result.token) then
    perform pgsched_internal.refuse('PS013', format('execution %s is no longer yours: you have already reported its result', held.id),
      'drop the result');
  end if;
  insert into pgsched_internal.results_to_record (client_id, execution_id, token, verb, result, error, retryable, retry_after)
  values (held.client_id, held.id, note_result.token, note_result.verb, note_result.result, note_result.error, note_result.retryable,
          note_result.retry_after);
  perform pgsched_internal.notify_unless_silent('release');
end $$;
comment on function pgsched_internal.note_result(text, pgsched.executions, bigint, jsonb, text, boolean, interval)
  is 'Stores the result of an execution that another transaction has locked. Raises PS013 if a result was already
stored.';

create or replace function pgsched_internal.record_in_hand(held pgsched.executions, noted pgsched_internal.results_to_record) returns boolean
  language plpgsql volatile as $$
begin
  if noted.verb = 'complete' then
    return pgsched_internal.end_in_hand(held, 'succeeded', noted.result, null, tried => true);
  elsif noted.verb = 'fail' then
    return pgsched_internal.fail_in_hand(held, noted.error, noted.retryable, noted.retry_after) is not null;
  end if;
  perform pgsched_internal.hand_back(held);
  return true;
end $$;
comment on function pgsched_internal.record_in_hand(pgsched.executions, pgsched_internal.results_to_record)
  is 'Applies a stored result to an execution that this transaction has locked. Returns false, and changes nothing, if
another row that the execution''s end writes is locked.';

create or replace function pgsched_internal.record_result(noted pgsched_internal.results_to_record) returns boolean
  language plpgsql volatile as $$
declare
  home constant smallint := (noted.token & 32767)::smallint;
  held pgsched.executions;
begin
  select * into held from pgsched.executions e
   where e.partition = home and e.id = noted.execution_id and e.lease_token = noted.token
     and (e.lease_owner is null or e.options ? 'deferred') for update skip locked;
  if held.id is not null then
    return pgsched_internal.record_in_hand(held, noted);
  end if;
  return not exists (select from pgsched.executions e
                      where e.partition = home and e.id = noted.execution_id and e.lease_token = noted.token
                        and (e.lease_owner is null or e.options ? 'deferred'));
end $$;
comment on function pgsched_internal.record_result(pgsched_internal.results_to_record)
  is 'Records a stored result, unless its execution is no longer leased under this token. Returns false if the execution
is still locked, true otherwise.';

-- Records the results one by one, so that one failure does not affect the others. If an execution is still locked, the
-- next attempt comes after half the time that its result has waited so far.
create or replace function pgsched_internal.record_results(most integer) returns integer language plpgsql volatile as $$
declare
  noted pgsched_internal.results_to_record;
  is_done boolean;
  count integer := 0;
begin
  perform set_config('pgsched.notify', 'on', true);  -- off in workers' sessions, but any worker may claim these rows
  for noted in
    select r.* from pgsched_internal.results_to_record r where r.try_at <= clock_timestamp() order by r.try_at limit most for update skip locked
  loop
    begin
      is_done := pgsched_internal.record_result(noted);
    exception when others then
      if not pgsched_internal.is_of_a_row(sqlstate) then
        raise;
      end if;
      is_done := not pgsched_internal.is_a_lock(sqlstate);
      if is_done then
        perform pgsched_internal.put_away((noted.token & 32767)::smallint, noted.execution_id, sqlerrm);
      end if;
    end;
    if is_done then
      delete from pgsched_internal.results_to_record r where r.id = noted.id;
      count := count + 1;
    else
      update pgsched_internal.results_to_record r
         set try_at = clock_timestamp() + least(greatest((clock_timestamp() - r.noted_at) * 0.5, interval '20 ms'), interval '2 s')
       where r.id = noted.id;
    end if;
  end loop;
  return count;
end $$;
comment on function pgsched_internal.record_results(integer)
  is 'Records stored results of executions that were locked, up to a limit. Returns the number of results that need no
further attempt.';
