-- Ends executions whose time runs out while a gate holds them. Nothing else would notice, because held executions are
-- not claimed. An execution that is held because of an error waits until someone deals with it.

create or replace function pgsched_internal.held_until(there pgsched.executions) returns timestamptz language sql stable parallel safe as $$
  select coalesce(there.start_at, there.scheduled_for, there.fire_at)
         + make_interval(secs => least(pgsched_internal.seconds_in(o, 'relevant_for'), pgsched_internal.seconds_in(o, 'deadline')))
    from pgsched_internal.options_of(there.options, there.client_id, there.partition, there.plan) o
$$;
comment on function pgsched_internal.held_until(pgsched.executions)
  is 'The instant at which an execution that is about to be held by a gate will end, according to its options and the
defaults of its client and queue; null if these set no limit.';

-- If another transaction has locked the row, or another row that the end needs, the execution is left for a later pass.
create or replace function pgsched_internal.end_if_late(partition smallint, id uuid) returns boolean
  language plpgsql volatile set lock_timeout = '5ms' as $$
declare
  waiting pgsched.executions;
  late record;
begin
  select * into waiting from pgsched.executions e
   where e.partition = end_if_late.partition and e.id = end_if_late.id and e.gate <> 'error' and not isfinite(e.fire_at)
     and e.lease_token is null for update skip locked;
  if not found then
    return null;
  end if;
  late := pgsched_internal.lateness(
    pgsched_internal.options_of(waiting.options, waiting.client_id, waiting.partition, waiting.plan), waiting.attempt + 1,
    extract(epoch from pgsched.now() - coalesce(waiting.start_at, waiting.scheduled_for))::float8);
  if late.status is null then  -- a default has changed since the execution was held
    update pgsched.executions e set held_until = pgsched_internal.held_until(e)
     where e.partition = waiting.partition and e.id = waiting.id;
    return null;
  end if;
  delete from pgsched.executions e where e.partition = waiting.partition and e.id = waiting.id;
  perform pgsched_internal.end_execution(waiting, late.status, late.reason);
  return true;
exception when others then
  if not pgsched_internal.is_of_a_row(sqlstate) then
    raise;
  elsif not pgsched_internal.is_a_lock(sqlstate) then
    perform pgsched_internal.put_away(waiting.partition, waiting.id, sqlerrm);
    return null;
  end if;
  return false;
end $$;
comment on function pgsched_internal.end_if_late(smallint, uuid)
  is 'Ends an execution that a gate holds, if its time is over. True if the execution was ended, and false if another
transaction has locked a row that the end needs. Null if its time is not over, or if it could not be ended and was
held because of an error.';

-- If the end of one execution needs a row that is locked, the other executions of its client wait for a later pass. So
-- no client can delay other clients, however many executions it has.
create or replace function pgsched_internal.end_overdue(most integer) returns bigint language plpgsql volatile as $$
declare
  waiting record;
  has_ended boolean;
  ended bigint := 0;
  passed_over text[] := '{}';
begin
  perform set_config('pgsched.notify', 'on', true);  -- notifications are off in workers' sessions
  while cardinality(passed_over) < 20 loop
    has_ended := null;
    for waiting in
      select e.partition, e.id, e.client_id::text from pgsched.executions e
       where e.gate <> 'error' and not isfinite(e.fire_at) and e.held_until <= pgsched.now() and e.client_id <> all (passed_over)
       order by e.held_until limit most - ended for update skip locked
    loop
      has_ended := pgsched_internal.end_if_late(waiting.partition, waiting.id);
      exit when not has_ended;
      ended := ended + coalesce(has_ended, false)::integer;
    end loop;
    exit when has_ended is distinct from false;
    passed_over := passed_over || waiting.client_id;
  end loop;
  return ended;
end $$;
comment on function pgsched_internal.end_overdue(integer)
  is 'Ends executions that a gate has held beyond their relevant_for or deadline, up to a limit. Returns how many it
ended.';
