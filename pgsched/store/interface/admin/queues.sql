-- Creating, changing and dropping queues. These functions run with their owner's rights, because creating tables
-- requires that.

create or replace function pgsched_internal.lock_queue(name text) returns pgsched.queues language plpgsql volatile as $$
declare
  queue pgsched.queues;
begin
  select * into queue from pgsched.queues q where q.name = lock_queue.name for update;
  if not found then
    perform pgsched_internal.refuse('PS010', format('there is no queue %L', lock_queue.name), 'the names are in pgsched.queues');
  end if;
  return queue;
end $$;
comment on function pgsched_internal.lock_queue(text)
  is 'Locks and returns the queue with this name; raises PS010 if there is none.';

create or replace function pgsched.set_queue(name text, changes jsonb, actor text default null) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  before pgsched.queues;
  after pgsched.queues;
begin
  perform pgsched_internal.check_said(null, set_queue.actor);
  perform pgsched_internal.check_administers();
  perform pgsched_internal.check_members(changes, array['options', 'weight', 'max_waiting']);
  before := pgsched_internal.lock_queue(name);
  after := jsonb_populate_record(before, pgsched_internal.with_defaults(changes, '{"weight": 1}'));
  if after is not distinct from before then
    return false;
  end if;
  update pgsched.queues q
     set options = after.options, weight = after.weight, max_waiting = after.max_waiting,
         full_since = case when after.max_waiting >= before.max_waiting then before.full_since end
   where q.name = set_queue.name;
  perform pgsched_internal.write_log('set queue', null, set_queue.actor, jsonb_strip_nulls(jsonb_build_object('queue', name,
    'changed', (select jsonb_agg(member) from jsonb_object_keys(changes) as member))), 'queue', name);
  return true;
end $$;
comment on function pgsched.set_queue(text, jsonb, text)
  is 'Changes the given settings of a queue: options (the defaults of its executions), weight and max_waiting. A null
restores the default. True if anything changed. Raises PS010 for an unknown queue, and PS000 or PS004 for invalid
values.';

-- The number of a dropped queue is not reused while other numbers are free, so that its history does not appear under
-- the name of another queue.
create or replace function pgsched_internal.next_queue_number() returns integer language plpgsql volatile as $$
declare
  number integer;
begin
  insert into pgsched_internal.facts as f (name, value) values ('queues', '1')
  on conflict (name) do update set value = (f.value::int + 1)::text, updated_at = pgsched.now()
  returning f.value::int into number;
  select min(n) into number from generate_series(1, 2047) n
   where not exists (select from pgsched.queues q where q.first_partition = n * pgsched_internal.partitions_per_queue())
     and (n >= number or number > 2047);
  if number is null then
    perform pgsched_internal.refuse('PS011', 'there are 2048 queues, which is the maximum', 'drop one that is no longer needed');
  end if;
  update pgsched_internal.facts f set value = number::text where f.name = 'queues' and f.value::int < number;
  return number;
end $$;
comment on function pgsched_internal.next_queue_number() is 'The number for the next queue.';

-- The table is created first and then attached, under a lock that lets other sessions continue to read and write.
-- Creating it as a partition would block all other sessions. The table gets the storage settings and rights of the
-- default queue's tables. In a pulled queue, the table also gets an index for consumers that act for only some clients.
create or replace function pgsched_internal.make_partition(partition integer, pulled boolean) returns void
  language plpgsql volatile as $$
declare
  model constant regclass := (select min(h.inhrelid) from pg_inherits h where h.inhparent = 'pgsched.executions'::regclass);
  made constant text := format('pgsched_internal.executions_%s', partition);
  item record;
begin
  execute format('create table if not exists %s (like pgsched.executions including defaults including constraints including indexes) with (%s)',
    made, (select array_to_string(c.reloptions, ', ') from pg_class c where c.oid = model));
  for item in select g.grantee::regrole as grantee, g.privilege_type as privilege
                from pg_class c, aclexplode(c.relacl) g where c.oid = model and g.grantee not in (0, c.relowner)
  loop
    execute format('grant %s on %s to %s', item.privilege, made, item.grantee);
  end loop;
  if pulled then
    execute format('create index if not exists executions_%s_client on %s (client_id, fire_at)', partition, made);
  end if;
  execute format('alter table pgsched.executions attach partition %s for values in (%s)', made, partition);
  execute format('alter table %s owner to %s', made, (select c.relowner::regrole from pg_class c where c.oid = 'pgsched.executions'::regclass));
end $$;
comment on function pgsched_internal.make_partition(integer, boolean) is 'Creates a partition of pgsched.executions.';

create or replace function pgsched.create_queue(name text, changes jsonb default '{}', actor text default null) returns smallint
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set lock_timeout = '1s' as $$
declare
  pulled constant jsonb := coalesce(nullif(changes -> 'pulled', 'null'), 'false');
  first integer;
begin
  perform pgsched_internal.check_said(null, create_queue.actor);
  perform pgsched_internal.check_administers();
  perform pgsched_internal.check_members(changes, array['pulled', 'options', 'weight', 'max_waiting']);
  if name is null or name !~ '^[a-z][a-z0-9_-]{0,62}$' then
    perform pgsched_internal.refuse('PS000', format('%L is not a valid queue name', left(name, 100)),
      'write 1 to 63 lowercase letters, digits, - or _, starting with a letter, for example orders');
  elsif jsonb_typeof(pulled) <> 'boolean' then
    perform pgsched_internal.refuse('PS000', format('pulled cannot be %s', left(pulled::text, 100)), 'write true for a queue that consumers pull from, or false');
  end if;
  perform from pgsched_internal.locks l where l.name = 'queues' for update;
  if exists (select from pgsched.queues q where q.name = create_queue.name) then
    perform pgsched_internal.refuse('PS011', format('there is already a queue %L', name), 'change its settings with pgsched.set_queue');
  end if;
  first := pgsched_internal.next_queue_number() * pgsched_internal.partitions_per_queue();
  for try in 1..10 loop
    begin
      perform pgsched_internal.make_partition(p, pulled::boolean) from pgsched_internal.partitions_of(first) p;
      exit;
    exception when lock_not_available then
      if try = 10 then
        raise;
      end if;
    end;
  end loop;
  insert into pgsched_internal.orderings (partition) select pgsched_internal.partitions_of(first);
  execute format('create sequence pgsched_internal.watch_%s', pgsched_internal.queue_number_of(first));
  insert into pgsched.queues (name, first_partition, pulled) values (name, first, pulled::boolean);
  perform pgsched.set_queue(name, changes - 'pulled', actor);
  perform pgsched_internal.write_log('create queue', null, create_queue.actor, jsonb_build_object('queue', name, 'first_partition', first), 'queue', name);
  return first;
end $$;
comment on function pgsched.create_queue(text, jsonb, text)
  is 'Creates a queue with its own partitions, without blocking other sessions. Returns the number of its first
partition. changes may contain the settings of pgsched.set_queue, and pulled, which leaves the queue to consumers
permanently (see pgsched.claim). Raises PS000 for an invalid name, and PS011 if a queue with this name exists.';

create or replace function pgsched.drop_queue(name text, actor text default null) returns void
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set lock_timeout = '1s' as $$
declare
  queue pgsched.queues;
  jobs bigint;
  live bigint;
begin
  perform pgsched_internal.check_said(null, drop_queue.actor);
  perform pgsched_internal.check_administers();
  if current_setting('transaction_isolation') <> 'read committed' then
    perform pgsched_internal.refuse('PS011', 'this transaction might not see all executions of the queue', 'drop the queue in a read committed transaction');
  end if;
  perform from pgsched_internal.locks l where l.name = 'queues' for update;
  queue := pgsched_internal.lock_queue(name);
  select count(*) into jobs from pgsched.jobs j where j.queue = drop_queue.name and j.state <> 'cancelled';
  if name = 'default' then
    perform pgsched_internal.refuse('PS011', 'the default queue cannot be dropped', 'pause it with pgsched.pause(''queue'', ''default'')');
  elsif jobs > 0 then
    perform pgsched_internal.refuse('PS011', format('the queue %L is not empty (jobs: %s)', name, jobs), 'cancel the jobs, or move them to another queue with pgsched.edit');
  end if;
  live := pgsched_internal.count_live(name, 1000000);
  if live > 0 then
    perform pgsched_internal.refuse('PS011', format('the queue %L is not empty (executions waiting or running: %s%s)', name,
      case when live = 1000000 then 'at least ' else '' end, live), 'wait until they have ended, or cancel them');
  end if;
  update pgsched.jobs j set queue = 'default' where j.queue = drop_queue.name;
  for try in 1..100 loop
    begin
      perform set_config('lock_timeout', '20ms', true);
      perform pgsched_internal.drop_partitions(queue);
      exit;
    exception when lock_not_available then  -- sessions that schedule are waiting behind this one, so they go first
      if try = 100 then
        raise;
      end if;
      perform pg_sleep(0.05 + random() * 0.1);
    end;
  end loop;
  delete from pgsched.queues q where q.name = drop_queue.name;
  perform pgsched.drop_limit('queue', name, drop_queue.actor);
  perform pgsched_internal.write_log('drop queue', null, drop_queue.actor, jsonb_build_object('queue', name), 'queue', name);
end $$;
comment on function pgsched.drop_queue(text, text)
  is 'Drops an empty queue, with its partitions and its limit. Its history stays. Raises PS010 for an unknown queue, and
PS011 for the queue default and for a queue that has jobs, or executions that wait or run.';

-- While this function holds its lock, no session can add rows. A session that waits to add rows finds no partition for
-- them afterwards.
create or replace function pgsched_internal.drop_partitions(queue pgsched.queues) returns void language plpgsql volatile as $$
declare
  partition smallint;
begin
  lock table only pgsched.executions in access exclusive mode;
  if pgsched_internal.count_live(queue.name, 1) > 0 then
    perform pgsched_internal.refuse('PS011', format('executions have just been added to the queue %L', queue.name),
      'wait until they have ended, or cancel them');
  end if;
  for partition in select pgsched_internal.partitions_of(queue.first_partition) loop
    execute format('drop table pgsched_internal.executions_%s', partition);
  end loop;
  execute format('drop sequence if exists pgsched_internal.watch_%s', pgsched_internal.queue_number_of(queue.first_partition));
  delete from pgsched_internal.orderings o where pgsched_internal.first_partition_of(o.partition) = queue.first_partition;
end $$;
comment on function pgsched_internal.drop_partitions(pgsched.queues)
  is 'Drops the tables of an empty queue. Raises PS011 if executions have just been added to it.';

create or replace function pgsched_internal.count_live(queue text, most bigint, waiting boolean default false) returns bigint
  language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  first constant integer := (select q.first_partition from pgsched.queues q where q.name = count_live.queue);
begin
  return (select count(*) from (select from pgsched.executions e
                                 where e.partition between first and first + pgsched_internal.partitions_per_queue() - 1 and (e.lease_token is null or not waiting)
                                 limit most) found);
end $$;
comment on function pgsched_internal.count_live(text, bigint, boolean)
  is 'The number of live executions of a queue that the role may see, counted up to a limit. If waiting is true, counts
only waiting executions.';

create or replace function pgsched_internal.set_queue_paused(paused boolean, name text, note text) returns boolean
  language plpgsql volatile as $$
declare
  queue constant pgsched.queues := pgsched_internal.lock_queue(name);
begin
  update pgsched.queues q set paused_at = case when paused then pgsched.now() end, reason = case when paused then note end
   where q.name = queue.name and (q.paused_at is not null) <> paused;
  return found;
end $$;
comment on function pgsched_internal.set_queue_paused(boolean, text, text)
  is 'Pauses or resumes a queue. While it is paused, none of its executions begin; running ones continue. False if
nothing changed.';
