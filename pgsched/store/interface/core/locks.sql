-- Locks among workers and operators' functions: rows of private tables, which no client may touch. Advisory locks would
-- not do: anyone who can connect can take one, and their keys are visible to everyone.

create or replace function pgsched_internal.try_lock(name text) returns boolean language plpgsql volatile as $$
begin
  perform from pgsched_internal.locks l where l.name = try_lock.name for update skip locked;
  return found;
end $$;
comment on function pgsched_internal.try_lock(text)
  is 'Takes one of the locks of this name for the transaction, without waiting. True if it was free.';

-- The holder of one of these locks may be delayed for as long as a handler blocks its process, or a transaction in
-- which a handler has written takes to commit. Other work does not wait for that.
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
  is 'Makes this transaction the only one to decide whose turn it is in these partitions, except those that another
transaction keeps locked for more than a moment. Returns the partitions locked. For workers: no transaction of a client
ever takes this lock.';

-- Operators may change gates, in a transaction that may stay open.
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
      perform set_config('lock_timeout', '1ms', true);  -- waits only for the first
    end;
  end loop;
  return busy;
end $$;
comment on function pgsched_internal.try_gates(text[])
  is 'Locks these gates, except those that another transaction keeps locked for more than a moment; returns the names of
the latter. For workers.';
