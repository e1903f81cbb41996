-- Locks that workers take among themselves, and operators' verbs: rows of private tables, which no client may touch. An
-- advisory lock can be taken by whoever can connect, and its key is shown to everybody.

create or replace function pgsched_internal.try_lock(name text) returns boolean language plpgsql volatile as $$
begin
  perform from pgsched_internal.locks l where l.name = try_lock.name for update skip locked;
  return found;
end $$;
comment on function pgsched_internal.try_lock(text)
  is 'Takes one of the locks of this name for the transaction, unless somebody has it; whether it did. Waits for nobody.';

-- Whoever has one of them may stand still for as long as a handler keeps its process, or a transaction that a handler has
-- written in takes to commit: nobody else's work waits for that.
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
  is 'Has this transaction alone decide whose turn it is in these partitions, without those where another does so for more than a moment;
the partitions. For workers: no transaction of a client ever takes it.';

-- Gates are an operator's to change, in a transaction that may stay open.
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
      perform set_config('lock_timeout', '1ms', true);  -- the moment is over
    end;
  end loop;
  return busy;
end $$;
comment on function pgsched_internal.try_gates(text[])
  is 'Locks these gates, without those that another transaction has for more than a moment; the names of those. For workers.';
