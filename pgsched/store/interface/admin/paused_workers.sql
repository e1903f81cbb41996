-- Pausing a worker. A pause is stored in a separate table, because an open transaction of another session must not keep
-- a worker from renewing its row in pgsched.workers.

create or replace function pgsched_internal.set_worker_paused(paused boolean, worker text, note text) returns boolean
  language plpgsql volatile as $$
declare
  number constant integer := case when worker ~ '^[0-9]{1,9}$' then worker::integer end;
begin
  perform from pgsched.workers w where w.id = number and w.lost_since is null;
  if not found then
    perform pgsched_internal.refuse('PS010', format('there is no worker %s', left(worker, 100)), 'the numbers are in pgsched.workers');
  elsif paused then
    delete from pgsched_internal.draining d where not exists (select from pgsched.workers w where w.id = d.worker);
    insert into pgsched_internal.draining (worker, reason) values (number, note) on conflict do nothing;
  else
    delete from pgsched_internal.draining d where d.worker = number;
  end if;
  return found;
end $$;
comment on function pgsched_internal.set_worker_paused(boolean, text, text)
  is 'Pauses or resumes a worker. While it is paused, it begins no executions, and other workers take over its share;
its running executions continue. False if nothing changed.';

-- Keeps the last thousand workers that left, so that a process that crashes in a loop does not fill the table.
create or replace function pgsched_internal.worker_left() returns trigger
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from pgsched_internal.former_workers f where f.id <= old.id - 1000;
  insert into pgsched_internal.former_workers (id, name, queues, release, started_at, lost_since)
  values (old.id, old.name, old.queues, old.release, old.started_at, old.lost_since) on conflict do nothing;
  return null;
end $$;
comment on function pgsched_internal.worker_left() is 'Records a worker whose row is deleted.';
create or replace trigger worker_left after delete on pgsched.workers
  for each row execute function pgsched_internal.worker_left();
