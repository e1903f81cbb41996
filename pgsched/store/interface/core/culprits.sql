-- Continuing without a row that makes a batch fail, as pgsched.store.core.culprits and pgsched.store.live.parked_rows do
-- for workers.

create or replace function pgsched_internal.is_a_lock(state text) returns boolean language sql immutable parallel safe
  return state in ('55P03', '40001', '40P01');
comment on function pgsched_internal.is_a_lock(text)
  is 'True if an error, by its SQLSTATE, means that another transaction held something: a retry may succeed a moment
later.';

-- By class: data, constraints, program limits, errors raised by functions, our own errors, corruption, and conflicts
-- with other transactions on a row. Not included: connections, rights, names, disk or memory full, shutdown, which no
-- row causes.
create or replace function pgsched_internal.is_of_a_row(state text) returns boolean language sql immutable parallel safe
  return left(state, 2) in ('21', '22', '23', '27', '2F', '38', '39', '40', '44', '54', 'P0', 'PS', 'XX') or pgsched_internal.is_a_lock(state);
comment on function pgsched_internal.is_of_a_row(text)
  is 'True if a single row can be the cause of an error, by its SQLSTATE.';

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
  is 'Fails a locked execution that cannot even be held, and drops its contents.';

-- Does not read the row's contents and counts no attempt. The job of a planned row becomes invalid, too, unless another
-- transaction has locked it: then no row carries the job on, and the sweep repairs it. A row that has run has its
-- successor already.
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
  is 'Holds a locked execution, with the reason, until its owner deals with it. with_job also makes its job invalid.';

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
  is 'Holds a locked execution that made a batch fail, or ends it if it cannot even be held. If neither works, it stays
unchanged.';
