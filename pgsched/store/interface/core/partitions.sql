-- The partition in which a row lives.

create or replace function pgsched_internal.slot_for(client_id text, key text, ordering_key text) returns smallint
  language sql immutable parallel safe
  as $$ select (hashtextextended(coalesce('o:' || ordering_key, 'k:' || key), hashtextextended(client_id, 0)) & 15)::smallint $$;
comment on function pgsched_internal.slot_for(text, text, text) is 'Which of its queue''s sixteen partitions a key lives in (0 to 15).';

-- Not in SQL: a statement would inline its body anew, which costs more than the insert of a row.
create or replace function pgsched_internal.check_partition(partition smallint, client_id text, key text, ordering_key text)
  returns boolean language plpgsql immutable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
begin
  return (partition & 15) = pgsched_internal.slot_for(client_id, key, ordering_key)
    or pgsched_internal.refuse('PS000', 'a row with a key or an ordering key lives in the partition of that key',
         'set partition to pgsched.partition_for(queue, client_id, key, ordering_key), or call pgsched.schedule');
end $$;
comment on function pgsched_internal.check_partition(smallint, text, text, text)
  is 'True for the partition in which a key lives; raises PS000 with what to write otherwise.';

-- The queue default has the first partitions, as the default of the column partition says too: no need to look.
create or replace function pgsched.partition_for(queue text, client_id text, key text default null, ordering_key text default null)
  returns smallint language plpgsql volatile parallel safe security definer set search_path = pg_catalog, pg_temp as $$
declare
  first smallint := 0;
begin
  if octet_length(client_id) > 400 or octet_length(key) > 800 or octet_length(ordering_key) > 800 then
    perform pgsched_internal.refuse('PS000', 'a client has a name of at most 100 characters, and a key or ordering key at most 200', 'give a shorter one');
  end if;
  if queue is distinct from 'default' then
    select q.first_partition into first from pgsched.queues q where q.name = partition_for.queue;
    if first is null then
      perform pgsched_internal.refuse('PS010', format('there is no queue %L', partition_for.queue), 'the names are in pgsched.queues');
    end if;
  end if;
  return first + coalesce(pgsched_internal.slot_for(client_id, key, ordering_key), floor(random() * 16)::smallint);
end $$;
comment on function pgsched.partition_for(text, text, text, text)
  is 'The partition for a row of this queue and key; a random one of the queue''s for a row with neither key.';
