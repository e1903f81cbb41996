-- A restored or copied database contains executions that have been delivered since, or that the original still
-- delivers. So the workers record which server they are on, and renew that record every few seconds. Before a worker
-- claims anything on a new connection, it compares its server with the record. If the two do not match, the
-- installation is held: nothing begins until an operator has checked and released it.

-- A managed server may hide its identity, so an unknown value (null) never counts as a difference. The timeline is read
-- from the current position in the WAL. The control file would not show a new timeline until the first checkpoint after
-- the promotion.
create or replace function pgsched_internal.this_server() returns pgsched_internal.fleet
  language plpgsql volatile as $$
declare
  here pgsched_internal.fleet;
begin
  here.singleton := true;
  here.seen_at := clock_timestamp();
  here.server_started_at := pg_postmaster_start_time();
  here.relation := 'pgsched_internal.fleet'::regclass;
  select d.oid into here.database from pg_catalog.pg_database d where d.datname = current_database();
  begin
    select c.system_identifier into here.system_identifier from pg_catalog.pg_control_system() c;
    here.timeline := ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer;
  exception when insufficient_privilege or feature_not_supported or undefined_function or object_not_in_prerequisite_state then null;
  end;
  return here;
end $$;
comment on function pgsched_internal.this_server()
  is 'The identity of this server and database, and the current time. A value that the server hides is null.';

-- Distinguishes a recovery from a standby. Only a standby receives WAL from a primary, and PostgreSQL remembers this
-- until it is restarted. A recovery reads WAL from files, up to a target or to the end.
create or replace function pgsched_internal.has_target() returns boolean language sql stable as $$
  select exists (select from unnest(array['', '_time', '_name', '_xid', '_lsn']) kind where current_setting('recovery_target' || kind, true) <> '')
$$;
comment on function pgsched_internal.has_target()
  is 'True if the server was started to recover to a target, such as a point in time.';

-- What each case means, in order:
-- - Another server or database: a copy.
-- - Another table: a restored dump.
-- - A new timeline, and the server followed no primary: a recovery to a point in the past, unless this worker knows
--   that nothing it saw is missing.
-- - Any other new timeline: a promoted standby if workers were active shortly before; if not, a recovery to a point in
--   the past.
-- - Missing renewals: a copy that was made earlier.
-- - A restart: harmless if the workers had shut down cleanly; if not, a power failure or a copy of a disk.
-- - None of these: the workers were away, or the clock was set. The start time of the server tells a restart from a
--   clock change, because it stays the same when the clock is set later.
create or replace function pgsched_internal.why_hold(
  was pgsched_internal.fleet, here pgsched_internal.fleet, rules pgsched.installation, left_in_order boolean, followed boolean, known bigint
) returns text language sql immutable as $$
  select case
    when was.database <> here.database or was.system_identifier <> here.system_identifier
      then 'this database is a copy; workers last ran on another server, or in another database of this server'
    when was.relation <> here.relation
      then 'a dump has been restored here since workers last ran'
    when was.timeline <> here.timeline
      then case when not followed and was.renewals >= known is not true
                then 'the server was recovered from a backup; it has a new timeline and was not a standby before'
                when here.seen_at - was.seen_at > rules.hold_after_promotion
                then 'the server was recovered to a point in the past, or was promoted long after workers last ran' end
    when was.timeline = here.timeline and was.renewals < known - 1
      then 'the database has gone back in time, to before this worker last ran'
    when was.server_started_at <> here.server_started_at and not left_in_order
      then case when here.seen_at - was.seen_at > rules.hold_after_restart
                then 'the server was started long after workers last ran, and they had not shut down cleanly' end
    else case when here.seen_at - was.seen_at > rules.hold_after_absence then 'no worker has run for a long time' end
  end
$$;
comment on function pgsched_internal.why_hold(pgsched_internal.fleet, pgsched_internal.fleet, pgsched.installation, boolean, boolean, bigint)
  is 'The reason why an installation must be held, given the server that its workers were on before (was) and the server
that they are on now (here); null if it may continue. known is the number of renewals that the worker last saw, if any;
a crash may lose the last renewal, because commits can be asynchronous.';

-- Consumers do not write the record, because they could keep it locked. They check only whether a worker that started
-- now would hold the installation.
create or replace function pgsched_internal.is_elsewhere() returns boolean language plpgsql stable as $$
declare
  was pgsched_internal.fleet;
  here pgsched_internal.fleet := pgsched_internal.this_server();
begin
  select f.* into was from pgsched_internal.fleet f;
  if (was.system_identifier, was.database, was.timeline, was.relation) is not distinct from (here.system_identifier, here.database, here.timeline, here.relation) then
    return false;
  end if;
  here.seen_at := was.seen_at;  -- only workers judge how long nothing ran
  return pgsched_internal.why_hold(was, here, i, true, pg_last_wal_receive_lsn() is not null and not pgsched_internal.has_target(), null) is not null
    from pgsched.installation i;
end $$;
comment on function pgsched_internal.is_elsewhere()
  is 'True if this is not the server, database or timeline that workers last recorded, unless a standby has taken
over.';

-- Most calls write nothing, because they find a record that has just been renewed.
create or replace function pgsched_internal.check_same_server(known bigint default null, out why text, out renewals bigint)
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  rules pgsched.installation;
  was pgsched_internal.fleet;
  here pgsched_internal.fleet;
  has_target boolean := pgsched_internal.has_target();
begin
  select i.* into rules from pgsched.installation i;
  if rules.held_since is not null then
    why := coalesce(rules.reason, 'held by an operator');
    return;
  end if;
  here := pgsched_internal.this_server();
  select f.* into was from pgsched_internal.fleet f;
  if (was.system_identifier, was.database, was.timeline, was.server_started_at, was.relation)
       is not distinct from (here.system_identifier, here.database, here.timeline, here.server_started_at, here.relation)
     and here.seen_at - was.seen_at between interval '0' and interval '2 seconds' and was.renewals < known - 1 is not true then
    renewals := was.renewals;
    return;
  end if;
  select f.* into was from pgsched_internal.fleet f for update;
  why := pgsched_internal.why_hold(was, here, rules,
    not exists (select from pgsched.workers w where w.expires_at <= pgsched.now()),
    pg_last_wal_receive_lsn() is not null and not has_target, case when not has_target or was.timeline = here.timeline then known end);
  if why is not null and (exists (select from pgsched.executions) or exists (select from pgsched.jobs j where j.state = 'active')) then
    perform pgsched_internal.set_paused(true, 'installation', null, null, null,
      why || format('; a worker was last seen at %s', to_char(was.seen_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SSZ')), null);
    select i.reason into why from pgsched.installation i;
    return;
  end if;
  renewals := pgsched_internal.note_server(here, case when why is null then 1 else 1000000000 end);
  why := null;
end $$;
comment on function pgsched_internal.check_same_server(bigint)
  is 'Records that a worker is on this server now, or holds the installation if the server does not match the earlier
record. Returns the reason why the installation is held, or null, and the number of renewals of the record. A worker
that was connected before passes the number of renewals that it last saw.';

create or replace function pgsched_internal.note_server(here pgsched_internal.fleet, further bigint) returns bigint language sql volatile as $$
  insert into pgsched_internal.fleet as f (system_identifier, database, timeline, server_started_at, seen_at, relation, renewals)
  values (here.system_identifier, here.database, here.timeline, here.server_started_at, here.seen_at, here.relation, further)
  on conflict (singleton) do update
     set system_identifier = excluded.system_identifier, database = excluded.database, timeline = excluded.timeline,
         server_started_at = excluded.server_started_at, seen_at = excluded.seen_at, relation = excluded.relation,
         renewals = f.renewals + excluded.renewals
  returning f.renewals
$$;
comment on function pgsched_internal.note_server(pgsched_internal.fleet, bigint)
  is 'Records the server that workers are on now, and adds to the number of renewals. After an operator has accepted a
past state, adds enough to exceed any number that a worker has seen.';

create or replace function pgsched_internal.set_installation_paused(paused boolean, note text) returns boolean language plpgsql volatile as $$
begin
  update pgsched.installation i
     set held_since = case when paused then pgsched.now() end, reason = case when paused then coalesce(note, 'held by an operator') end
   where (i.held_since is not null) <> paused;
  if not found then
    return false;
  elsif not paused then
    perform pgsched_internal.note_server(pgsched_internal.this_server(), 1000000000);
  end if;
  perform pgsched_internal.notify_workers('queues');
  return true;
end $$;
comment on function pgsched_internal.set_installation_paused(boolean, text)
  is 'Holds or releases the installation. While it is held, workers and consumers begin nothing from any queue. Once it
is released, everything that is due begins on this server. False if nothing changed.';

-- Within the partition, the executions keep the order of their instants.
create or replace function pgsched_internal.spread_overdue(partition smallint, due_by timestamptz, begins timestamptz, apart interval, most integer)
  returns integer language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  moved integer;
begin
  perform pgsched_internal.check_administers();
  execute format(
    'with overdue as ('
    '  select o.id, row_number() over (order by o.fire_at, o.id) - 1 as n'
    '    from (select e.id, e.fire_at from %1$s e.fire_at <= $1 and e.lease_token is null order by e.fire_at limit $4) o)'
    ' update pgsched_internal.executions_%2$s e'
    '    set fire_at = $2 + overdue.n * $3, scheduled_for = coalesce(e.scheduled_for, e.fire_at),'
    '        gate = case when e.plan > 0 and e.fire_at <= coalesce(e.start_at, e.scheduled_for, e.fire_at) then ''busy'' else e.gate end,'
    '        reason = ''waits: after the recovery, overdue executions fire at a limited rate'''
    '   from overdue where e.id = overdue.id and e.lease_token is null and e.fire_at <= $1',
    pgsched_internal.in_partition(spread_overdue.partition), spread_overdue.partition)
  using due_by, begins, apart, most;
  get diagnostics moved = row_count;
  return moved;
end $$;
comment on function pgsched_internal.spread_overdue(smallint, timestamptz, timestamptz, interval, integer)
  is 'Moves the waiting executions of a partition that are overdue at due_by, up to a limit. begins is the new instant
of the first execution, and apart is the interval between two executions. Returns how many it moved.';
