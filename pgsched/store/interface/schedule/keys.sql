-- Keys. For each key of a client, a row of pgsched_internal.keys records the holder: an execution, by its partition and
-- id, or a job. A transaction that assigns a key locks this row first, so that concurrent transactions take turns.
-- Workers never touch the row: the partition shows whether the execution is still live, and history shows its outcome.
-- Locks are always taken in the same order: the key's row, then the job, then the waiting execution.

create or replace function pgsched_internal.key_retention() returns interval language sql stable parallel safe as $$
  select case when k.kept between interval '0' and interval '3653 days' then k.kept
              else pgsched_internal.refuse('PS000', format('pgsched.key_retention is %s', k.kept),
                                           'set it to an interval from 0 to 3653 days')::text::interval end
    from (select pgsched_internal.setting('key_retention', '24 hours')::interval as kept) k
$$;
comment on function pgsched_internal.key_retention()
  is 'How long an execution keeps its key after it has succeeded: the setting pgsched.key_retention.';

create or replace function pgsched_internal.lock_key(client text, key text, id uuid, partition smallint)
  returns pgsched_internal.keys language plpgsql volatile as $$
declare
  held pgsched_internal.keys;
begin
  loop
    insert into pgsched_internal.keys (client_id, key, id, partition)
    values (lock_key.client, lock_key.key, lock_key.id, lock_key.partition) on conflict do nothing;
    if found then
      return null;
    end if;
    select k.* into held from pgsched_internal.keys k
     where k.client_id = lock_key.client and k.key = lock_key.key for update;
    if found then
      return held;
    end if;  -- deleted by tidy_keys in between
  end loop;
end $$;
comment on function pgsched_internal.lock_key(text, text, uuid, smallint)
  is 'Locks a key until the transaction ends, and returns its holder. If the key was new, assigns it to this id and
returns null.';

create or replace function pgsched_internal.give_key(client text, key text, id uuid, partition smallint) returns void
  language sql volatile as $$
  update pgsched_internal.keys k set id = give_key.id, partition = give_key.partition, look_at = default
   where k.client_id = give_key.client and k.key = give_key.key
$$;
comment on function pgsched_internal.give_key(text, text, uuid, smallint)
  is 'Assigns a locked key to this execution or job.';

create or replace function pgsched_internal.is_live(held pgsched_internal.keys) returns boolean language plpgsql volatile as $$
begin
  if held.partition is null then
    return exists (select from pgsched.jobs j where j.id = held.id and j.state <> 'cancelled');
  end if;
  return (pgsched_internal.live_execution(held.partition, held.id)).id is not null;
end $$;
comment on function pgsched_internal.is_live(pgsched_internal.keys)
  is 'True if the holder of a key is live: a job that is not cancelled, or a waiting or running execution.';

create or replace function pgsched_internal.refuse_taken(held pgsched_internal.keys, hint text) returns void
  language plpgsql volatile as $$
begin
  perform pgsched_internal.refuse('PS011', format('the key %L of client %L is taken by %s %s', held.key, held.client_id,
    case when held.partition is null then 'job' else 'execution' end, held.id), refuse_taken.hint);
end $$;
comment on function pgsched_internal.refuse_taken(pgsched_internal.keys, text)
  is 'Raises PS011; the error names the holder of the key.';

create or replace function pgsched_internal.take_key(client text, key text, id uuid, partition smallint) returns void
  language plpgsql volatile as $$
declare
  held constant pgsched_internal.keys := pgsched_internal.lock_key(take_key.client, take_key.key, take_key.id, take_key.partition);
begin
  if held.id <> take_key.id then
    if pgsched_internal.is_live(held) then
      perform pgsched_internal.refuse_taken(held, 'leave that row out, or call pgsched.schedule for it, which replaces a waiting execution');
    end if;
    perform pgsched_internal.give_key(take_key.client, take_key.key, take_key.id, take_key.partition);
  end if;
end $$;
comment on function pgsched_internal.take_key(text, text, uuid, smallint)
  is 'Assigns a key to an inserted row. Raises PS011 if another live execution or job holds the key.';

-- An ended execution keeps its key if it succeeded less than the retention time ago. The dates are constants in the
-- query, so that it opens no other days' partitions. It runs in a block that is rolled back, which releases its locks.
create or replace function pgsched_internal.succeeded_lately(client text, key text, id uuid default null, out succeeded uuid)
  language plpgsql volatile set plan_cache_mode = force_custom_plan as $$
declare
  latest constant timestamptz := greatest(clock_timestamp(), pgsched.now()) + interval '1 minute';
  retention constant interval := pgsched_internal.key_retention();
  ended record;
begin
  if id is null and retention <= interval '24 hours' then
    return;  -- otherwise the key's row would still exist
  end if;
  begin
    if retention <= interval '24 hours' then
      execute 'select h.id, h.status from pgsched.history h where h.id = $1 and h.finished_at > $2 and h.finished_at < $3'
              ' order by h.finished_at desc limit 1'
         into ended using succeeded_lately.id, pgsched.now() - retention, latest;
    else
      execute 'select h.id, h.status from pgsched.history h'
              ' where h.client_id = $1 and h.key = $2 and h.finished_at > $3 and h.finished_at < $4'
              ' order by h.finished_at desc limit 1'
         into ended using succeeded_lately.client, succeeded_lately.key, pgsched.now() - retention, latest;
    end if;
    raise sqlstate 'PSUND';
  exception when sqlstate 'PSUND' then null;
  end;
  if ended.status = 'succeeded' then
    succeeded := ended.id;
  end if;
end $$;
comment on function pgsched_internal.succeeded_lately(text, text, uuid)
  is 'The last execution under a key if it succeeded within the retention time; null otherwise.';

create or replace function pgsched_internal.keys_inserted() returns trigger
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  given bigint;
  noted bigint;
begin
  insert into pgsched_internal.keys (client_id, key, id, partition)
  select i.client_id, i.key, i.id, i.partition from inserted i where i.key is not null order by i.client_id, i.key
  on conflict do nothing;
  get diagnostics noted = row_count;
  select count(*) into given from inserted i where i.key is not null;
  if given > noted then  -- some keys are not new: they may be this row's own, free, or taken
    perform pgsched_internal.take_key(t.client_id, t.key, t.id, t.partition)
       from (select i.client_id, i.key, i.id, i.partition
               from inserted i join pgsched_internal.keys k on k.client_id = i.client_id and k.key = i.key
              where k.id <> i.id order by i.client_id, i.key) t;
  end if;
  return null;
end $$;
comment on function pgsched_internal.keys_inserted()
  is 'Assigns the keys of inserted executions. Raises PS011 if another live execution or job holds one of them.';
create or replace trigger executions_keys after insert on pgsched.executions
  referencing new table as inserted for each statement
  -- 'told' skips the check in our own functions, which run as the owner. It has no effect if a client sets it.
  when (current_setting('pgsched.notify', true) is distinct from 'told' or not has_table_privilege('pgsched.executions'::regclass::oid, 'UPDATE'))
  execute function pgsched_internal.keys_inserted();

create or replace function pgsched_internal.job_keys_inserted() returns trigger
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pgsched_internal.take_key(t.client_id, t.key, t.id, null)
     from (select i.client_id, i.key, i.id from inserted i where i.key is not null and i.state <> 'cancelled'
            order by i.client_id, i.key) t;
  return null;
end $$;
comment on function pgsched_internal.job_keys_inserted()
  is 'Assigns the keys of inserted jobs. Raises PS011 if another live execution or job holds one of them.';
create or replace trigger jobs_keys after insert on pgsched.jobs
  referencing new table as inserted for each statement execute function pgsched_internal.job_keys_inserted();

-- A key's row is checked when its retention ends, and again later if the holder is still live, or ended less than a
-- retention time ago.
create or replace function pgsched_internal.tidy_keys(most integer) returns integer language plpgsql volatile set plan_cache_mode = force_custom_plan as $$
declare
  kept constant interval := greatest(interval '24 hours', pgsched_internal.key_retention());
  due constant pgsched_internal.keys[] := array(
    select k from pgsched_internal.keys k where k.look_at <= pgsched.now() order by k.look_at limit most for update skip locked);
  found_ids uuid[];
  still uuid[] := array(select j.id from unnest(due) d join pgsched.jobs j on j.id = d.id
                         where d.partition is null and j.state <> 'cancelled');
  home smallint;
begin
  for home in select distinct d.partition from unnest(due) d where d.partition is not null loop
    begin
      execute format('select array_agg(e.id) from %s e.id = any ($1)', pgsched_internal.in_partition(home))
         into found_ids using array(select d.id from unnest(due) d where d.partition = home);
      raise sqlstate 'PSUND';
    exception when sqlstate 'PSUND' then null;
    end;
    still := still || found_ids;
  end loop;
  execute 'select array_agg(h.id) from pgsched.history h where h.id = any ($1) and h.finished_at > $2 and h.finished_at < $3'
     into found_ids using array(select d.id from unnest(due) d where d.partition is not null and d.id <> all (still)),
       pgsched.now() - kept, pgsched.now() + interval '1 minute';
  still := still || found_ids;
  update pgsched_internal.keys k set look_at = pgsched.now() + kept
    from unnest(due) d where k.client_id = d.client_id and k.key = d.key and k.id = any (still);
  delete from pgsched_internal.keys k
   using unnest(due) d where k.client_id = d.client_id and k.key = d.key and k.id <> all (still);
  return cardinality(due);
end $$;
comment on function pgsched_internal.tidy_keys(integer)
  is 'Checks keys, up to a limit, and deletes those whose holder is neither live nor recently ended. Returns the number
of keys checked.';
