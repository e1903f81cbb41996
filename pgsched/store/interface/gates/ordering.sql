-- Executions with the same ordering key are delivered one at a time, in the order of their instants and, for the same
-- instant, of their insertion. The first becomes the head of its key when a claim finds it, and stays the head until it
-- ends, across retries and lost workers. The executions behind the head are held at the gate 'order', and each end
-- gives the next execution its turn. An execution that waits for another (pgsched.dependencies) keeps its place. If
-- both have the same key, the waiting execution gives up its place, because otherwise neither would ever begin.

-- Transactions of clients and of handlers do not lock a partition's ordering, because until such a transaction ended,
-- nobody else could decide whose turn it is. Without the lock, an execution may be held behind another that ends at the
-- same moment. So a transaction that ends or holds an execution without the lock has the workers check the turns.

-- Stops at the first execution with the same key, and does not search beyond it.
create or replace function pgsched_internal.waits_for_own(partition smallint, id uuid) returns boolean language plpgsql stable as $$
begin
  return exists (
    with recursive mine as materialized (
      select e.client_id, e.ordering_key from pgsched.executions e
       where e.partition = waits_for_own.partition and e.id = waits_for_own.id
    ), before(id, is_own) as (
      select d.after_id, pgsched_internal.is_of_key(waits_for_own.partition, d.after_id, mine.client_id, mine.ordering_key)
        from pgsched.dependencies d cross join mine where d.execution_id = waits_for_own.id and d.status is null
      union
      select d.after_id, pgsched_internal.is_of_key(waits_for_own.partition, d.after_id, mine.client_id, mine.ordering_key)
        from before b join pgsched.dependencies d on d.execution_id = b.id and d.status is null cross join mine
       where not b.is_own)
    select from before b where b.is_own);
end $$;
comment on function pgsched_internal.waits_for_own(smallint, uuid)
  is 'True if an execution waits, directly or through others, for one that has the same ordering key and has not
ended.';

create or replace function pgsched_internal.is_of_key(partition smallint, id uuid, client_id text, ordering_key text) returns boolean
  language plpgsql stable as $$
begin
  return exists (select from pgsched.executions e where e.partition = is_of_key.partition and e.id = is_of_key.id
                    and e.client_id = is_of_key.client_id and e.ordering_key = is_of_key.ordering_key);
end $$;
comment on function pgsched_internal.is_of_key(smallint, uuid, text, text)
  is 'True if an execution has this ordering key and has not ended.';

-- The call of a cancelled execution may continue for a while, and blocks its ordering key. The execution's worker can
-- prolong the block, and only that worker may pass is_over.
create or replace function pgsched_internal.is_blocked(partition smallint, client_id text, ordering_key text, is_over boolean default false)
  returns boolean language plpgsql volatile as $$
begin
  perform from pgsched.blocked_keys b
    where b.client_id = is_blocked.client_id and b.ordering_key = is_blocked.ordering_key and b.partition = is_blocked.partition;
  if not found then
    return false;
  end if;
  delete from pgsched.blocked_keys b
   where b.client_id = is_blocked.client_id and b.ordering_key = is_blocked.ordering_key and b.partition = is_blocked.partition
     and (is_blocked.is_over and b.until is not null or b.until <= pgsched.now());
  return not found;
end $$;
comment on function pgsched_internal.is_blocked(smallint, text, text, boolean)
  is 'True if an ordering key waits for somebody to unblock it, or for the call of a cancelled execution to end.';

create or replace function pgsched_internal.block_while_called(ended pgsched.executions) returns void language sql volatile as $$
  insert into pgsched.blocked_keys (client_id, ordering_key, partition, execution_id, reason, until, token)
  values (ended.client_id, ended.ordering_key, ended.partition, ended.id, 'the call of a cancelled execution is still running', ended.lease_expires_at,
          ended.lease_token)
      on conflict (client_id, ordering_key, partition) do nothing
$$;
comment on function pgsched_internal.block_while_called(pgsched.executions)
  is 'Blocks an ordering key until the call of a cancelled execution has ended or its lease has run out.';

create or replace function pgsched_internal.let_next(partition smallint, client_id text, ordering_key text, is_over boolean default false)
  returns timestamptz language plpgsql volatile as $$
declare
  first record;
  instant timestamptz;
begin
  perform from pgsched.executions e
    where e.partition = let_next.partition and e.client_id = let_next.client_id and e.ordering_key = let_next.ordering_key and e.at_head;
  if found or pgsched_internal.is_blocked(let_next.partition, let_next.client_id, let_next.ordering_key, let_next.is_over) then
    return null;
  end if;
  select e.id, e.gate, e.fire_at, coalesce(e.start_at, e.scheduled_for) as start into first from pgsched.executions e
   where e.partition = let_next.partition and e.client_id = let_next.client_id and e.ordering_key = let_next.ordering_key
     and (isfinite(e.fire_at) or e.gate is not null or not pgsched_internal.waits_for_own(e.partition, e.id))
   order by coalesce(e.scheduled_for, e.fire_at), e.id limit 1;
  if first.gate is distinct from 'order' or first.fire_at <> 'infinity' then  -- a claim finds it anyway
    return null;
  end if;
  perform from pgsched.executions e where e.partition = let_next.partition and e.id = first.id for update skip locked;
  if not found then  -- the client's transaction that has locked it will notify the workers: no need to wait
    return null;
  end if;
  instant := greatest(pgsched.now(), first.start);  -- a claim may have held it a moment before its start
  update pgsched.executions e set fire_at = instant, gate = null, waits = pgsched_internal.waited(e.waits)
   where e.partition = let_next.partition and e.id = first.id and e.lease_token is null;
  if not found then
    return null;
  end if;
  perform pgsched_internal.notify_wake(let_next.partition, instant);
  return instant;
end $$;
comment on function pgsched_internal.let_next(smallint, text, text, boolean)
  is 'Lets the first execution of an ordering key fire if the key has no head and is not blocked, and that execution is
held behind another. Returns the instant at which the execution fires, or null if it does not.';

create or replace function pgsched_internal.block_key(partition smallint, client_id text, ordering_key text, execution_id uuid, reason text)
  returns void language sql volatile as $$
  insert into pgsched.blocked_keys (client_id, ordering_key, partition, execution_id, reason)
  values (block_key.client_id, block_key.ordering_key, block_key.partition, block_key.execution_id, block_key.reason)
      on conflict (client_id, ordering_key, partition) do update
     set execution_id = excluded.execution_id, reason = excluded.reason, blocked_at = excluded.blocked_at, until = null, token = null
   where blocked_keys.until is not null
$$;
comment on function pgsched_internal.block_key(smallint, text, text, uuid, text)
  is 'Blocks an ordering key until somebody unblocks it, because an execution with that key has failed for good.';

create or replace function pgsched_internal.unblock(paused boolean, client text, ordering_key text) returns uuid language plpgsql volatile as $$
declare
  freed pgsched.blocked_keys;
begin
  if paused then
    perform pgsched_internal.refuse('PS000', 'an ordering key cannot be paused by hand; a failed execution blocks it', 'pause its queue, or its client');
  elsif length(ordering_key) > 200 or not pgsched_internal.acts_for(unblock.client) then
    perform pgsched_internal.refuse('PS010', format('client %L has no blocked ordering key %L', client, ordering_key), 'the blocked keys are in pgsched.blocked_keys');
  end if;
  for freed in
    delete from pgsched.blocked_keys b where b.client_id = unblock.client and b.ordering_key = unblock.ordering_key returning b.*
  loop
    perform pgsched_internal.let_next(freed.partition, freed.client_id, freed.ordering_key);
    perform pgsched_internal.notify_unless_silent('turns');
  end loop;
  return freed.execution_id;
end $$;
comment on function pgsched_internal.unblock(boolean, text, text)
  is 'Unblocks an ordering key, and returns the id of the execution that failed, which is not run again. Returns null if
the key was not blocked.';
