-- Workers that begin nothing more, because somebody said so. What is said stands in a table of its own: a worker renews its row in
-- pgsched.workers, and whoever keeps a transaction open must not keep it from that.

create or replace function pgsched_internal.check_worker(worker integer) returns void language plpgsql volatile as $$
begin
  perform from pgsched.workers w where w.id = check_worker.worker and w.lost_since is null;
  if not found then
    perform pgsched_internal.refuse('PS010', format('there is no worker %s', check_worker.worker), 'the numbers are in pgsched.workers');
  end if;
end $$;
comment on function pgsched_internal.check_worker(integer) is 'Raises PS010 where no worker has this number, or it is lost.';

create or replace function pgsched.drain_worker(worker integer, note text default null, actor text default null) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pgsched_internal.check_said(drain_worker.note, drain_worker.actor);
  perform pgsched_internal.check_administers();
  perform pgsched_internal.check_worker(drain_worker.worker);
  delete from pgsched_internal.draining d where not exists (select from pgsched.workers w where w.id = d.worker);
  insert into pgsched_internal.draining (worker, reason) values (drain_worker.worker, drain_worker.note) on conflict do nothing;
  if not found then
    return false;
  end if;
  perform pgsched_internal.log_setting('drain worker', drain_worker.actor,
    jsonb_build_object('worker', drain_worker.worker, 'note', drain_worker.note), 'worker', drain_worker.worker::text,
    before => '{"state": "active"}', after => '{"state": "draining"}');
  return true;
end $$;
comment on function pgsched.drain_worker(integer, text, text)
  is 'Has one worker begin nothing more; what it has in hand goes on, and others take its share. False if it was told so before.';

create or replace function pgsched.resume_worker(worker integer, note text default null, actor text default null) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pgsched_internal.check_said(resume_worker.note, resume_worker.actor);
  perform pgsched_internal.check_administers();
  perform pgsched_internal.check_worker(resume_worker.worker);
  delete from pgsched_internal.draining d where d.worker = resume_worker.worker;
  if not found then
    return false;
  end if;
  perform pgsched_internal.log_setting('resume worker', resume_worker.actor,
    jsonb_build_object('worker', resume_worker.worker, 'note', resume_worker.note), 'worker', resume_worker.worker::text,
    before => '{"state": "draining"}', after => '{"state": "active"}');
  return true;
end $$;
comment on function pgsched.resume_worker(integer, text, text) is 'Has a worker that was drained begin again; false if it was not.';

-- The last thousand that have left are kept, so that a process which dies as often as it is started fills no table.
create or replace function pgsched_internal.worker_left() returns trigger
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from pgsched_internal.former_workers f where f.id <= old.id - 1000;
  insert into pgsched_internal.former_workers (id, name, queues, release, started_at, lost_since)
  values (old.id, old.name, old.queues, old.release, old.started_at, old.lost_since) on conflict do nothing;
  return null;
end $$;
comment on function pgsched_internal.worker_left() is 'Keeps what is known of a worker whose row is deleted.';
create or replace trigger worker_left after delete on pgsched.workers
  for each row execute function pgsched_internal.worker_left();
