-- Lets a batch continue without the row that makes it fail. pgsched.store.core.culprits does the same for workers.

create or replace function pgsched_internal.is_a_lock(state text) returns boolean language sql immutable parallel safe
  return state in ('55P03', '40001', '40P01');
comment on function pgsched_internal.is_a_lock(text)
  is 'True if an SQLSTATE means a conflict with another transaction, so that a retry a moment later may succeed.';

-- A single row can cause data errors, constraint violations, exceeded program limits, errors raised in functions,
-- pgsched's own errors, corruption, and conflicts with other transactions over a row. Other errors, such as lost
-- connections, missing privileges and lack of memory, are not caused by a single row.
create or replace function pgsched_internal.is_of_a_row(state text) returns boolean language sql immutable parallel safe
  return left(state, 2) in ('21', '22', '23', '27', '2F', '38', '39', '40', '44', '54', 'P0', 'PS', 'XX') or pgsched_internal.is_a_lock(state);
comment on function pgsched_internal.is_of_a_row(text)
  is 'True if an SQLSTATE belongs to a class of errors that a single row can cause.';

create or replace function pgsched_internal.bury(partition smallint, id uuid, reason text) returns void language plpgsql volatile as $$
declare
  gone pgsched.executions;
begin
  delete from pgsched.executions e where e.partition = bury.partition and e.id = bury.id
  returning e.id, e.created_at, e.job_id, e.partition, e.client_id, e.target, e.key, e.ordering_key, e.awaited
       into gone.id, gone.created_at, gone.job_id, gone.partition, gone.client_id, gone.target, gone.key, gone.ordering_key, gone.awaited;
  gone.fire_at := pgsched.now();
  gone.attempt := 0;
  perform pgsched_internal.end_execution(gone, 'failed', bury.reason, lets_next => true);
end $$;
comment on function pgsched_internal.bury(smallint, uuid, text)
  is 'Ends a locked execution as failed and drops its contents. For an execution that cannot even be held.';

-- Does not read the row's contents, and does not count the attempt. If with_job is true, the job of a planned row
-- becomes invalid, unless another transaction has locked the job. If the job is locked, it has no next row until the
-- sweep repairs the job. A row that has already run does not affect its job, because the next row exists.
create or replace function pgsched_internal.set_aside(partition smallint, id uuid, reason text, with_job boolean default false)
  returns void language plpgsql volatile as $$
declare
  held record;
begin
  update pgsched.executions e
     set scheduled_for = coalesce(e.scheduled_for, case when e.fire_at between '0001-01-01 00:00+00' and '9999-12-31 00:00+00' then e.fire_at end),
         fire_at = 'infinity', gate = 'error', waits = pgsched_internal.held(e.waits, 'error', pgsched.now()), reason = set_aside.reason, at_head = null,
         attempt = greatest(e.attempt - (e.lease_token is not null)::integer, 0),
         lease_owner = null, lease_token = null, lease_expires_at = null, consumer = null,
         plan = case when with_job then e.plan else -abs(e.plan) end
   where e.partition = set_aside.partition and e.id = set_aside.id returning e.job_id, e.plan into held;
  if with_job and held.plan > 0 then
    update pgsched.jobs j set state = 'invalid', reason = set_aside.reason, updated_at = pgsched.now()
     where j.id = any (array(select o.id from pgsched.jobs o
                              where o.id = held.job_id and o.state = 'active' for no key update skip locked));
  end if;
end $$;
comment on function pgsched_internal.set_aside(smallint, uuid, text, boolean)
  is 'Holds a locked execution until its owner deals with it, and records the reason. If with_job is true, the
execution''s job becomes invalid, too.';

create or replace function pgsched_internal.put_away(partition smallint, id uuid, reason text) returns void language plpgsql volatile as $$
declare
  line constant text := left(regexp_replace(reason, '[[:space:]]+', ' ', 'g'), 500);
begin
  begin
    perform pgsched_internal.set_aside(put_away.partition, put_away.id, line);
    return;
  exception when others then
    if not pgsched_internal.is_of_a_row(sqlstate) or pgsched_internal.is_a_lock(sqlstate) then
      raise;
    end if;
  end;
  perform pgsched_internal.bury(put_away.partition, put_away.id, line);
exception when others then
  if not pgsched_internal.is_of_a_row(sqlstate) then
    raise;
  elsif not pgsched_internal.is_a_lock(sqlstate) then
    raise warning 'execution % can be neither run nor held: %', put_away.id, sqlerrm;
  end if;
end $$;
comment on function pgsched_internal.put_away(smallint, uuid, text)
  is 'Holds a locked execution that made a batch fail, or ends it if it cannot even be held. If neither is possible, the
execution stays unchanged.';
