-- Locks that workers take among themselves, and operators' verbs: rows of private tables, which no client may touch. An
-- advisory lock can be taken by whoever can connect, and its key is shown to everybody.

create or replace function pgsched_internal.try_lock(name text) returns boolean language plpgsql volatile as $$
begin
  perform from pgsched_internal.locks l where l.name = try_lock.name for update skip locked;
  return found;
end $$;
comment on function pgsched_internal.try_lock(text)
  is 'Takes one of the locks of this name for the transaction, unless somebody has it; whether it did. Waits for nobody.';

create or replace function pgsched_internal.lock_ordering(partitions smallint[]) returns void language plpgsql volatile as $$
begin
  perform from pgsched_internal.orderings o where o.partition = any (partitions) order by o.partition for update;
end $$;
comment on function pgsched_internal.lock_ordering(smallint[])
  is 'Has this transaction alone decide whose turn it is in these partitions. For workers: no transaction of a client ever takes it.';
