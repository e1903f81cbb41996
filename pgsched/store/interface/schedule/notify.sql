-- Notifications to workers. A statement sends at most one for each queue, and only if a row is due before an idle
-- worker would poll and no worker polls the queue constantly. `set pgsched.notify = off` turns notifications off for a
-- session; workers then find the rows by polling, within a second.

-- While a transaction that used NOTIFY commits, PostgreSQL holds one lock for the whole database until the commit has
-- been flushed. So transactions that notify commit one after another. Therefore, a worker that is woken often polls
-- every few milliseconds instead. It announces this in a sequence of the queue, whose value says which worker polls and
-- until when (in milliseconds since 1970). A sequence is updated in place: however old other snapshots are, a reader
-- finds a single row version, and takes no lock that anyone else could hold. Only the owner may touch the sequence. An
-- announcement expires after a moment, so a lost worker need not withdraw it.
do $$
declare
  item text;
begin
  for item in select 'pgsched_internal.watch_' || pgsched_internal.queue_number_of(q.first_partition) from pgsched.queues q loop
    if to_regclass(item) is null then  -- the sequence has been dropped
      execute format('create sequence %s', item);
    end if;
  end loop;
end $$;

create or replace function pgsched_internal.watch_of(queue_number integer) returns bigint language sql volatile as $$
  select pg_catalog.pg_sequence_last_value(
    case queue_number when 0 then 'pgsched_internal.watch_0'::pg_catalog.regclass  -- resolved by the planner
                      else pg_catalog.to_regclass('pgsched_internal.watch_' || queue_number) end)
$$;
comment on function pgsched_internal.watch_of(integer)
  is 'The last announcement that a worker polls a queue; null if there was none.';

-- Uses each parameter only once, so that the function is inlined: a call would cost three times as much.
create or replace function pgsched_internal.is_current(watch bigint) returns boolean language sql volatile as $$
  select coalesce(abs((watch >> 22) - 2500 - (extract(epoch from clock_timestamp()) * 1000)::bigint) <= 2500, false)
$$;
comment on function pgsched_internal.is_current(bigint) is 'True if this announcement has not expired.';

create or replace function pgsched_internal.is_watched(queue_number integer) returns boolean language sql volatile as $$
  select pgsched_internal.is_current(pgsched_internal.watch_of(queue_number))
$$;
comment on function pgsched_internal.is_watched(integer)
  is 'True if a worker polls all partitions of a queue, so that no notification is needed.';

create or replace function pgsched_internal.take_watch(queue_number integer, worker integer) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set synchronous_commit = off as $$
declare
  watch constant bigint := pgsched_internal.watch_of(queue_number);
  until constant bigint := (extract(epoch from clock_timestamp()) * 1000)::bigint + 1500;
  sequence constant regclass := to_regclass('pgsched_internal.watch_' || queue_number);
begin
  if sequence is null or (watch & 4194303) <> (worker & 4194303) and pgsched_internal.is_current(watch) then
    return false;
  end if;
  perform setval(sequence, (until << 22) | (worker & 4194303));
  return true;
end $$;
comment on function pgsched_internal.take_watch(integer, integer)
  is 'Announces that a worker polls a queue for the next 1.5 seconds. False if another worker does so already.';

create or replace function pgsched_internal.leave_watch(queue_number integer, worker integer) returns void
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set synchronous_commit = off as $$
begin
  if (pgsched_internal.watch_of(queue_number) & 4194303) = (worker & 4194303) then
    perform setval(to_regclass('pgsched_internal.watch_' || queue_number), 1);
  end if;
end $$;
comment on function pgsched_internal.leave_watch(integer, integer)
  is 'Withdraws a worker''s announcement that it polls a queue.';

-- All notifications to workers are sent here. They are only hints: polling finds rows without a notification, too. If a
-- listening session stays in a transaction, the notification queue fills up. Once the queue is full, no transaction
-- that notifies can commit, so notifications stop while the queue is at least half full.
create or replace function pgsched_internal.notify_workers(said text) returns void language sql volatile
  as $$ select pg_notify('pgsched_wake', said) where pg_notification_queue_usage() < 0.5 $$;
comment on function pgsched_internal.notify_workers(text)
  is 'Sends the workers a message: for example, that a partition has a due row, or that they should plan. Does nothing
while the notification queue is at least half full.';

create or replace function pgsched_internal.notify_unless_silent(said text) returns void language plpgsql volatile as $$
begin
  if current_setting('pgsched.notify', true) is distinct from 'off' then
    perform pgsched_internal.notify_workers(said);
  end if;
end $$;
comment on function pgsched_internal.notify_unless_silent(text)
  is 'Like notify_workers, but does nothing in a session that has turned notifications off.';

create or replace function pgsched_internal.notify_wake(partition smallint, fire_at timestamptz) returns void
  language plpgsql volatile as $$
begin
  if fire_at < now() + interval '2 seconds' and current_setting('pgsched.notify', true) is distinct from 'off'
     and not pgsched_internal.is_watched(pgsched_internal.queue_number_of(partition)) then
    perform pgsched_internal.notify_workers(partition || '@' || (extract(epoch from fire_at) * 1000000)::bigint);
  end if;
end $$;
comment on function pgsched_internal.notify_wake(smallint, timestamptz)
  is 'Notifies the workers if a new row in a partition is due within two seconds.';

-- Two kinds of rows are never refused: a job's rows, which were accepted with the job, and notifications of an end,
-- which the end must not wait for.
create or replace function pgsched_internal.refuse_full(first_partition integer) returns void language plpgsql stable as $$
declare
  queue pgsched.queues;
begin
  select * into queue from pgsched.queues q where q.first_partition = refuse_full.first_partition and q.full_since is not null;
  if found and (current_setting('pgsched.unbounded', true) is distinct from 'on' 
             or not has_table_privilege(pgsched_internal.acting_role(), 'pgsched.executions', 'UPDATE')) then
    perform pgsched_internal.refuse('PS014', format('the queue %L is full: %s executions are waiting, which is the maximum', queue.name, queue.max_waiting),
      'try again in a second, or raise its max_waiting with pgsched.set_queue');
  end if;
end $$;
comment on function pgsched_internal.refuse_full(integer)
  is 'Raises PS014 if the queue with this first partition is full.';

create or replace function pgsched_internal.executions_inserted() returns trigger language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from pgsched.queues q where q.full_since is not null) then
    perform pgsched_internal.refuse_full(i.first_partition)
       from (select distinct pgsched_internal.first_partition_of(partition) as first_partition from inserted where job_id is null and awaited is null) i;
  end if;
  if current_setting('pgsched.notify', true) is distinct from 'off' and current_setting('pgsched.notify', true) is distinct from 'told'
     and exists (select from inserted i where i.fire_at < now() + interval '2 seconds') then
    perform pgsched_internal.notify_workers(string_agg(near.partition || '@' || (extract(epoch from near.fire_at) * 1000000)::bigint, ','))
       from (select i.partition, min(i.fire_at) as fire_at from inserted i
              where i.fire_at < now() + interval '2 seconds' group by i.partition) near
      -- One message for each queue: a message of more than 8000 bytes would make the insert fail.
      group by pgsched_internal.queue_number_of(near.partition)
     having not pgsched_internal.is_watched(pgsched_internal.queue_number_of(near.partition));
  end if;
  return null;
end $$;
comment on function pgsched_internal.executions_inserted()
  is 'Raises PS014 if one-shots were inserted into a full queue. Notifies the workers of inserted rows that are due
within two seconds.';
create or replace trigger executions_inserted after insert on pgsched.executions
  referencing new table as inserted for each statement
  -- Anyone may change these settings. A client can only silence notifications for its own rows, and turns no check off.
  when (current_setting('pgsched.notify', true) is distinct from 'told'
        and (current_setting('pgsched.notify', true) is distinct from 'off' or current_setting('pgsched.unbounded', true) is distinct from 'on')
        or not has_table_privilege(coalesce(nullif(current_setting('role'), 'none'), session_user)::name, 'pgsched.executions'::regclass::oid, 'UPDATE'))
  execute function pgsched_internal.executions_inserted();

create or replace function pgsched_internal.workers_told() returns trigger
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pgsched_internal.notify_workers(tg_argv[0]);
  return null;
end $$;
comment on function pgsched_internal.workers_told()
  is 'Notifies the workers to plan, or to read the settings of clients or queues again, as the trigger says.';
create or replace trigger clients_changed after insert or update or delete on pgsched.clients
  for each statement execute function pgsched_internal.workers_told('clients');

create or replace trigger queues_changed after insert or delete or update of name, first_partition, options, weight, max_waiting, paused_at
  on pgsched.queues for each statement execute function pgsched_internal.workers_told('queues');

create or replace trigger jobs_inserted after insert on pgsched.jobs for each statement execute function pgsched_internal.workers_told('plan');
create or replace trigger jobs_edited after update of revision on pgsched.jobs for each statement execute function pgsched_internal.workers_told('plan');
