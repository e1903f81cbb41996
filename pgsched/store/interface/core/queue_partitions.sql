-- The partition of a row, and the queue of a partition. Most of these functions are a single expression, which the
-- calling statement inlines. Inlining costs some planning time, and nothing once the plan is cached.

create or replace function pgsched_internal.first_partition_of(partition integer) returns smallint language sql immutable parallel safe
  return (partition & ~(pgsched_internal.partitions_per_queue() - 1))::smallint;
comment on function pgsched_internal.first_partition_of(integer)
  is 'The first partition of the queue to which a partition belongs.';

create or replace function pgsched_internal.queue_number_of(partition integer) returns integer language sql immutable parallel safe
  return partition / pgsched_internal.partitions_per_queue();
comment on function pgsched_internal.queue_number_of(integer)
  is 'The number of the queue to which a partition belongs.';

create or replace function pgsched_internal.partitions_of(first_partition integer) returns setof smallint
  language sql immutable parallel safe rows 16
  begin atomic
    select p::smallint from generate_series(first_partition, first_partition + pgsched_internal.partitions_per_queue() - 1) as p;
  end;
comment on function pgsched_internal.partitions_of(integer) is 'All partitions of the queue with this first partition.';

create or replace function pgsched_internal.any_partition_of(first_partition integer) returns smallint language sql volatile parallel safe
  return first_partition + floor(random() * pgsched_internal.partitions_per_queue())::smallint;
comment on function pgsched_internal.any_partition_of(integer)
  is 'A random partition of the queue with this first partition.';

create or replace function pgsched_internal.slot_for(client_id text, key text, ordering_key text) returns smallint
  language sql immutable parallel safe
  return (hashtextextended(coalesce('o:' || ordering_key, 'k:' || key), hashtextextended(client_id, 0))
          & (pgsched_internal.partitions_per_queue() - 1))::smallint;
comment on function pgsched_internal.slot_for(text, text, text)
  is 'The partition of a key within its queue, counted from 0.';

-- In PL/pgSQL, because every statement would inline a SQL function again, which costs more than inserting a row.
create or replace function pgsched_internal.check_partition(partition smallint, client_id text, key text, ordering_key text)
  returns boolean language plpgsql immutable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
begin
  return partition - pgsched_internal.first_partition_of(partition) = pgsched_internal.slot_for(client_id, key, ordering_key)
    or pgsched_internal.refuse('PS000', 'a row with a key or an ordering key must be in the partition of that key',
         'set partition to pgsched.partition_for(queue, client_id, key, ordering_key), or call pgsched.schedule');
end $$;
comment on function pgsched_internal.check_partition(smallint, text, text, text)
  is 'True if a row with this key or ordering key belongs in this partition; raises PS000 with a hint otherwise.';

-- The queue named 'default' always has the first partitions, so it needs no lookup. The column default of "partition"
-- relies on this as well.
create or replace function pgsched.partition_for(queue text, client_id text, key text default null, ordering_key text default null)
  returns smallint language plpgsql volatile parallel safe security definer set search_path = pg_catalog, pg_temp as $$
declare
  first smallint := 0;
begin
  if octet_length(client_id) > 400 or octet_length(key) > 800 or octet_length(ordering_key) > 800 then
    perform pgsched_internal.refuse('PS000', 'a client name can have at most 100 characters, and a key or ordering key at most 200', 'give a shorter one');
  end if;
  if queue is distinct from 'default' then
    select q.first_partition into first from pgsched.queues q where q.name = partition_for.queue;
    if first is null then
      perform pgsched_internal.refuse('PS010', format('there is no queue %L', partition_for.queue), 'the names are in pgsched.queues');
    end if;
  end if;
  return coalesce(first + pgsched_internal.slot_for(client_id, key, ordering_key), pgsched_internal.any_partition_of(first));
end $$;
comment on function pgsched.partition_for(text, text, text, text)
  is 'The partition for a row with this queue and key; a random partition of the queue if the row has neither a key nor
an ordering key.';
