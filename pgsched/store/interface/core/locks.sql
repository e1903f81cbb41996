-- Locks for workers and for operators' functions. The locks are rows of private tables, which no client may touch.
-- Advisory locks are unsuitable: anyone who can connect can see their keys and take them.

create or replace function pgsched_internal.try_lock(name text) returns boolean language plpgsql volatile as $$
begin
  perform from pgsched_internal.locks l where l.name = try_lock.name for update skip locked;
  return found;
end $$;
comment on function pgsched_internal.try_lock(text)
  is 'Tries to take the lock with this name until the transaction ends, without waiting. True if the lock was free.';

-- The holder of one of these locks may be slow: a handler may block its process, or the transaction in which a handler
-- has written may take a long time to commit. Other work does not wait for such a holder.
create or replace function pgsched_internal.try_orderings(partitions smallint[]) returns smallint[]
  language plpgsql volatile set lock_timeout = '50ms' as $$
declare
  taken constant smallint[] := array(
    select o.partition from pgsched_internal.orderings o where o.partition = any (partitions) for update skip locked);
begin
  if cardinality(taken) = cardinality(partitions) then
    return taken;
  end if;
  begin
    perform from pgsched_internal.orderings o where o.partition = any (partitions) order by o.partition for update;
    return partitions;
  exception when lock_not_available then
    return taken;
  end;
end $$;
comment on function pgsched_internal.try_orderings(smallint[])
  is 'Locks the orderings of these partitions, so that only this transaction decides whose turn it is there. Returns the
partitions that it locked: all except those that another transaction keeps locked for more than a moment. Only for
workers: a client''s transaction never takes these locks.';

-- An operator may have changed a gate in a transaction that is still open.
create or replace function pgsched_internal.try_gates(names text[]) returns text[] language plpgsql volatile set lock_timeout = '50ms' as $$
declare
  busy text[] := '{}';
  one text;
begin
  foreach one in array names loop
    begin
      perform from pgsched_internal.gates g where g.name = one for update;
    exception when lock_not_available then
      busy := busy || one;
      perform set_config('lock_timeout', '1ms', true);  -- wait only for the first locked gate
    end;
  end loop;
  return busy;
end $$;
comment on function pgsched_internal.try_gates(text[])
  is 'Locks these gates. Returns the names of gates that it could not lock, because another transaction keeps them
locked for more than a moment. Only for workers.';
