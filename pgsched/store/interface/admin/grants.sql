-- Rights: a role may do only what is granted here. roles.sql creates the roles, if the migrating role may do that;
-- missing roles are skipped here. PUBLIC may do nothing. In the schema pgsched, a client's role may call functions,
-- which run with their owner's rights and check the role that the session acts as. A client's role may read the rows of
-- the clients whose database_role it is, and insert executions and jobs for these clients. The role has neither UPDATE
-- nor DELETE, so it cannot lock rows itself. In the schema pgsched_internal, the role may read only what views show.

create or replace function pgsched_internal.my_clients() returns text[] language sql stable parallel safe
  return array(select c.client_id from pgsched.clients c join pg_catalog.pg_roles r on r.rolname = c.database_role
                where pg_catalog.pg_has_role(r.oid, 'MEMBER'));
comment on function pgsched_internal.my_clients() is 'The clients whose rows the current role may see and change.';

create or replace function pgsched_internal.grant_execute(functions text[], role regrole) returns void
  language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  name text;
  of_name text;
  signatures text[] := '{}';
begin
  foreach name in array functions loop
    select string_agg(p.oid::regprocedure::text, ', ') into of_name from pg_proc p
     where p.proname = split_part(name, '.', 2) and p.pronamespace = to_regnamespace(split_part(name, '.', 1));
    if of_name is null then
      raise exception 'there is no function % to grant', name;
    end if;
    signatures := signatures || of_name;
  end loop;
  execute format('grant execute on function %s to %s', array_to_string(signatures, ', '), role);
end $$;
comment on function pgsched_internal.grant_execute(text[], regrole)
  is 'Grants a role the right to execute all functions with these names; called by migrations.';

do $$
declare
  item text;
  by_row constant regclass[] := array[
    'pgsched.clients', 'pgsched_internal.signing_secrets', 'pgsched_internal.secrets', 'pgsched.jobs', 'pgsched.executions', 'pgsched.history',
    'pgsched.attempts', 'pgsched.rollups', 'pgsched.progress', 'pgsched.dependencies', 'pgsched_internal.kept_dead_letters',
    'pgsched.bulk_operations', 'pgsched.blocked_keys', 'pgsched_internal.gates', 'pgsched_internal.api_keys', 'pgsched.audit_log',
    'pgsched_internal.facts']::regclass[];
begin
  for item in
    select format('alter table %s %s row level security, no force row level security', c.oid::regclass,
                  case when c.oid = any (by_row) then 'enable' else 'disable' end)
      from pg_catalog.pg_class c
     where c.relnamespace in ('pgsched'::regnamespace, 'pgsched_internal'::regnamespace) and c.relkind in ('r', 'p')
       and (c.relrowsecurity <> (c.oid = any (by_row)) or c.relforcerowsecurity)
  loop
    execute item;
  end loop;
end $$;

-- Revokes everything that an earlier release granted.
do $$
declare
  item text;
begin
  for item in select format('drop policy %I on %s', p.polname, p.polrelid::regclass) from pg_catalog.pg_policy p
               join pg_catalog.pg_class c on c.oid = p.polrelid
              where c.relnamespace in ('pgsched'::regnamespace, 'pgsched_internal'::regnamespace)
  loop
    execute item;
  end loop;
  -- Revokes from all roles in one statement, because each statement rewrites the row of every function.
  select concat_ws(', ', 'public', string_agg(quote_ident(r.rolname), ', ')) into item from pg_catalog.pg_roles r
   where r.rolname in ('pgsched_worker', 'pgsched_api', 'pgsched_client', 'pgsched_reader');
  execute format('revoke all on schema pgsched, pgsched_internal from %s', item);
  execute format('revoke all on all tables in schema pgsched, pgsched_internal from %s', item);
  execute format('revoke all on all sequences in schema pgsched, pgsched_internal from %s', item);
  execute format('revoke all on all functions in schema pgsched, pgsched_internal from %s', item);
end $$;

-- An internal function that uses only its arguments, or runs with its caller's rights, gives its caller no rights, so
-- workers and the API may call all of these. Internal functions that run with their owner's rights are listed below for
-- each role. Functions of the schema pgsched check the caller themselves and are granted by name: a client's role may
-- not create, set or drop anything that belongs to the installation.
do $$
declare
  item record;
begin
  for item in
    select r.rolname, string_agg(p.oid::regprocedure::text, ', ') as functions
      from pg_catalog.pg_proc p, pg_catalog.pg_roles r
     where r.rolname in ('pgsched_worker', 'pgsched_api', 'pgsched_client', 'pgsched_reader')
       and case p.pronamespace
             when 'pgsched_internal'::regnamespace then
               (p.provolatile = 'i' or not p.prosecdef) and r.rolname in ('pgsched_worker', 'pgsched_api')
             when 'pgsched'::regnamespace then
               case r.rolname
                 when 'pgsched_worker' then true
                 when 'pgsched_api' then p.proname <> 'set_installation'
                 when 'pgsched_client' then p.proname !~ '^(create|set|drop)_'
                 else false end
             else false end
     group by r.rolname
  loop
    execute format('grant execute on function %s to %I', item.functions, item.rolname);
  end loop;
end $$;

-- Workers.
do $$
declare
  item text;
begin
  if to_regrole('pgsched_worker') is null then
    return;
  end if;
  grant usage on schema pgsched, pgsched_internal to pgsched_worker;
  grant select, insert, update, delete on pgsched.executions, pgsched.jobs, pgsched.dependencies, pgsched.progress, pgsched.workers, pgsched.audit_log,
    pgsched.blocked_keys, pgsched_internal.gates, pgsched_internal.gate_use, pgsched_internal.facts, pgsched_internal.keys, pgsched_internal.job_moves,
    pgsched_internal.rows_to_come_back_to, pgsched_internal.ends_to_mark,
    pgsched_internal.results_to_record to pgsched_worker;
  grant select, update on pgsched_internal.locks, pgsched_internal.orderings to pgsched_worker;  -- to lock their rows
  grant select, insert, update on pgsched.history to pgsched_worker;
  grant select, update on pgsched.queues, pgsched.bulk_operations, pgsched_internal.kept_dead_letters to pgsched_worker;
  grant select, insert on pgsched.attempts to pgsched_worker;
  grant insert on pgsched_internal.counts_to_roll_up to pgsched_worker;
  grant update (sealed) on pgsched_internal.secrets, pgsched_internal.signing_secrets to pgsched_worker;
  grant select on pgsched.clients, pgsched_internal.signing_secrets, pgsched_internal.secrets, pgsched.schema_version, pgsched.installation, pgsched.status, pgsched_internal.live, pgsched_internal.ended, pgsched.dead_letters,
    pgsched.sidelined, pgsched.undeliverable, pgsched.rollups, pgsched.minutes to pgsched_worker;
  grant select, update (worker) on pgsched_internal.draining to pgsched_worker;
  grant select (id, subject, clients, scopes, created_at, expires_at, last_used_at, revoked_at, former_until, rate, burst) on pgsched_internal.api_keys to pgsched_worker;
  grant usage on sequence pgsched.workers_id_seq, pgsched.audit_log_id_seq to pgsched_worker;
  -- For the doctor.
  grant select on sequence pgsched.workers_id_seq, pgsched.audit_log_id_seq to pgsched_worker, pgsched_api, pgsched_reader;
  for item in select i.inhrelid::regclass from pg_catalog.pg_inherits i where i.inhparent = 'pgsched.executions'::regclass loop
    -- Needed because frequent statements name the partition's table.
    execute format('grant select, insert, update, delete on %s to pgsched_worker', item);
  end loop;
  perform pgsched_internal.grant_execute(array[
    'pgsched_internal.crowding', 'pgsched_internal.has_keys', 'pgsched_internal.look_up_keys', 'pgsched_internal.seconds_since',
    'pgsched_internal.days_to_archive', 'pgsched_internal.days_to_drop', 'pgsched_internal.sealed_with', 'pgsched_internal.stalls',
    'pgsched_internal.adopt_strays', 'pgsched_internal.create_key', 'pgsched_internal.note_key_use', 'pgsched_internal.put_secret',
    'pgsched_internal.revoke_key', 'pgsched_internal.rotate_key', 'pgsched_internal.rotate_signing_secret',
    'pgsched_internal.set_key_rate', 'pgsched_internal.attach_day', 'pgsched_internal.check_same_server', 'pgsched_internal.days_to_make',
    'pgsched_internal.drop_day', 'pgsched_internal.expire_dead_letters', 'pgsched_internal.keep_dead_letters',
    'pgsched_internal.leave_watch', 'pgsched_internal.make_day', 'pgsched_internal.change_execution', 'pgsched_internal.roll_up',
    'pgsched_internal.roll_up_notes', 'pgsched_internal.skip_range', 'pgsched_internal.spread_overdue', 'pgsched_internal.take_watch',
    'pgsched_internal.trim_default_days', 'pgsched_internal.settle_called', 'pgsched_internal.mark_archived'], 'pgsched_worker');
  foreach item in array array['pgsched.clients', 'pgsched_internal.signing_secrets', 'pgsched_internal.secrets', 'pgsched.jobs', 'pgsched.executions', 'pgsched.history',
                              'pgsched.attempts', 'pgsched.rollups', 'pgsched.progress', 'pgsched.dependencies', 'pgsched_internal.kept_dead_letters',
                              'pgsched.bulk_operations', 'pgsched.blocked_keys', 'pgsched_internal.gates', 'pgsched_internal.api_keys', 'pgsched.audit_log'] loop
    execute format('create policy worker on %s to pgsched_worker using (true) with check (true)', item);
  end loop;
  create policy worker on pgsched_internal.facts for select to pgsched_worker using (true);
  -- Not all facts, because migrations execute the values of some facts.
  create policy worker_set on pgsched_internal.facts to pgsched_worker using (name like 'tzdata%');
end $$;

-- The API. It acts for the clients of the API key that a request carries; its sessions declare these clients in a
-- setting. It may not update executions, so it does not count as having all rights. It plans the jobs that it creates,
-- and its pages query the tables directly.
do $$
declare
  mine constant text := '(select pgsched_internal.api_acts_for_all()) or client_id = any (array(select unnest(pgsched_internal.api_clients())))';
  item text;
begin
  if to_regrole('pgsched_api') is null then
    return;
  end if;
  grant usage on schema pgsched, pgsched_internal to pgsched_api;
  grant select on pgsched.executions, pgsched.jobs, pgsched.history, pgsched.attempts, pgsched.rollups, pgsched.minutes, pgsched.progress, pgsched.dependencies, pgsched.bulk_operations,
    pgsched.blocked_keys, pgsched.queues, pgsched.schema_version, pgsched.installation, pgsched.status, pgsched.dead_letters, pgsched.sidelined, pgsched.undeliverable, pgsched.audit_log,
    pgsched.workers, pgsched_internal.draining, pgsched_internal.former_workers, pgsched_internal.facts, pgsched_internal.kept_dead_letters, pgsched_internal.live, pgsched_internal.ended, pgsched_internal.gates to pgsched_api;
  grant select (client_id, keep, options, weight, state, reason, database_role, channels, dead_letter_target, dead_letters_for,
    late_after, on_time_share, created_at) on pgsched.clients to pgsched_api;
  grant select (id, subject, clients, scopes, created_at, expires_at, last_used_at, revoked_at, former_until, rate, burst) on pgsched_internal.api_keys to pgsched_api;
  grant insert (fire_at, scheduled_for, start_at, job_id, plan, partition, client_id, target, payload, options, ordering_key) on pgsched.executions to pgsched_api;
  grant update (state, reason, updated_at, planned_revision, paused_at) on pgsched.jobs to pgsched_api;
  perform pgsched_internal.grant_execute(array[
    'pgsched_internal.crowding', 'pgsched_internal.seconds_since', 'pgsched_internal.has_keys', 'pgsched_internal.look_up_keys',
    'pgsched_internal.sealed_with', 'pgsched_internal.stalls', 'pgsched_internal.create_key', 'pgsched_internal.note_key_use',
    'pgsched_internal.put_secret', 'pgsched_internal.revoke_key', 'pgsched_internal.rotate_key', 'pgsched_internal.rotate_signing_secret',
    'pgsched_internal.set_key_rate', 'pgsched_internal.skip_range', 'pgsched_internal.spread_overdue'], 'pgsched_api');
  foreach item in array array['pgsched.clients', 'pgsched.jobs', 'pgsched.executions', 'pgsched.history', 'pgsched.attempts', 'pgsched.rollups', 'pgsched.progress',
                              'pgsched_internal.kept_dead_letters', 'pgsched.blocked_keys'] loop
    execute format('create policy api on %s for select to pgsched_api using (%s)', item, mine);
  end loop;
  execute format('create policy api_new on pgsched.executions for insert to pgsched_api with check (%s)', mine);
  execute format('create policy api_set on pgsched.jobs for update to pgsched_api using (%s)', mine);
  create policy api on pgsched.bulk_operations for select to pgsched_api
    using ((select pgsched_internal.api_acts_for_all()) or clients <@ (select pgsched_internal.api_clients()));
  create policy api on pgsched.dependencies for select to pgsched_api
    -- Only the dependencies of executions that the role sees.
    using (exists (select from pgsched.executions e where e.id = dependencies.execution_id));
  create policy api on pgsched_internal.gates for select to pgsched_api
    using ((select pgsched_internal.api_acts_for_all())
           or client_id = any (array(select unnest(pgsched_internal.api_clients()))));
  create policy api on pgsched.audit_log for select to pgsched_api using ((select pgsched_internal.api_administers())
    or client_id = any (array(select unnest(pgsched_internal.api_clients())))
    or client_id is not null and (select pgsched_internal.api_acts_for_all()));
  create policy api on pgsched_internal.api_keys for select to pgsched_api using ((select pgsched_internal.api_administers()));
  create policy api on pgsched_internal.facts for select to pgsched_api using (true);
end $$;

-- Operators who only look: they may read everything except secrets, and change nothing.
do $$
declare
  item text;
begin
  if to_regrole('pgsched_reader') is null then
    return;
  end if;
  -- In pgsched_internal, only what commands and pages show
  grant usage on schema pgsched, pgsched_internal to pgsched_reader;
  grant select on pgsched.status, pgsched.dead_letters, pgsched.sidelined, pgsched.undeliverable, pgsched.jobs, pgsched.executions, pgsched.history, pgsched.attempts, pgsched.rollups, pgsched.minutes,
    pgsched.progress, pgsched.dependencies, pgsched.queues, pgsched.installation, pgsched.workers, pgsched.audit_log, pgsched.bulk_operations, pgsched.blocked_keys
    to pgsched_reader;
  grant select on pgsched_internal.kept_dead_letters, pgsched_internal.gates, pgsched_internal.gate_use, pgsched_internal.facts,
    pgsched_internal.draining, pgsched_internal.former_workers, pgsched_internal.live, pgsched_internal.ended, pgsched.schema_version to pgsched_reader;
  grant select (id, subject, clients, scopes, created_at, expires_at, last_used_at, revoked_at, former_until, rate, burst) on pgsched_internal.api_keys to pgsched_reader;
  grant select (client_id, keep, options, weight, state, reason, database_role, channels, dead_letter_target, dead_letters_for,
    late_after, on_time_share, created_at) on pgsched.clients to pgsched_reader;
  perform pgsched_internal.grant_execute(array[
    'pgsched.now', 'pgsched.secrets', 'pgsched.signing_secrets', 'pgsched.status_of', 'pgsched_internal.buckets',
    'pgsched_internal.canonical_host', 'pgsched_internal.catalogue', 'pgsched_internal.count_live', 'pgsched_internal.days_of',
    'pgsched_internal.first_partition_of', 'pgsched_internal.is_living', 'pgsched_internal.partitions_of',
    'pgsched_internal.partitions_per_queue', 'pgsched_internal.quantile', 'pgsched_internal.queue_number_of',
    -- The reader acts for no client, so it sees no secrets.
    'pgsched_internal.sealed_with', 'pgsched_internal.seconds_since', 'pgsched_internal.stalls', 'pgsched_internal.target_host'], 'pgsched_reader');
  foreach item in array array['pgsched.clients', 'pgsched.jobs', 'pgsched.executions', 'pgsched.history', 'pgsched.attempts', 'pgsched.rollups', 'pgsched.progress', 'pgsched.dependencies',
                              'pgsched_internal.kept_dead_letters', 'pgsched.bulk_operations', 'pgsched.blocked_keys',
                              'pgsched_internal.gates', 'pgsched_internal.api_keys', 'pgsched_internal.facts', 'pgsched.audit_log'] loop
    execute format('create policy reader on %s for select to pgsched_reader using (true)', item);
  end loop;
end $$;

-- Clients. The functions that change a client's settings may also be granted to that client's role, which can then
-- change only its own settings.
do $$
declare
  mine constant text := 'client_id = any (array(select unnest(pgsched_internal.my_clients())))';
  item text;
begin
  if to_regrole('pgsched_client') is null then
    return;
  end if;
  grant usage on schema pgsched, pgsched_internal to pgsched_client;
  grant select on pgsched.status, pgsched.dead_letters, pgsched.jobs, pgsched.history, pgsched.attempts, pgsched.rollups, pgsched.minutes, pgsched.progress, pgsched.dependencies,
    pgsched.bulk_operations, pgsched.audit_log, pgsched.schema_version to pgsched_client;
  grant select on pgsched_internal.kept_dead_letters, pgsched_internal.live, pgsched_internal.ended to pgsched_client;
  -- Not the token, because it can be used to forge results.
  grant select (fire_at, scheduled_for, start_at, created_at, lease_expires_at, id, job_id, lease_owner, plan, uncounted, partition, attempt, awaited, at_head,
    client_id, target, payload, options, key, ordering_key, gate, consumer, reason, labels, waits) on pgsched.executions to pgsched_client;
  grant select (client_id, ordering_key, partition, execution_id, reason, blocked_at, until) on pgsched.blocked_keys to pgsched_client;
  grant select (name, first_partition, weight, max_waiting, full_since, paused_at, reason, pulled) on pgsched.queues to pgsched_client;
  grant select (client_id, keep, options, weight, state, reason, database_role, channels, dead_letter_target, dead_letters_for,
    late_after, on_time_share, created_at) on pgsched.clients to pgsched_client;
  grant insert (fire_at, partition, client_id, target, payload, options, key, ordering_key, labels) on pgsched.executions to pgsched_client;
  grant insert (client_id, key, queue, ordering_key, target, payload, options, rules, labels, cron, timezone, every, anchor, gap, overlap)
    on pgsched.jobs to pgsched_client;
  -- Called by constraints, defaults, views and policies, and by commands.
  perform pgsched_internal.grant_execute(array[
    'pgsched_internal.buckets', 'pgsched_internal.call_target', 'pgsched_internal.canonical_host', 'pgsched_internal.check_cron',
    'pgsched_internal.check_labels', 'pgsched_internal.check_options', 'pgsched_internal.check_partition',
    'pgsched_internal.check_payload', 'pgsched_internal.check_rules', 'pgsched_internal.check_target',
    'pgsched_internal.first_partition_of', 'pgsched_internal.my_clients', 'pgsched_internal.new_id', 'pgsched_internal.partitions_of',
    'pgsched_internal.partitions_per_queue', 'pgsched_internal.quantile', 'pgsched_internal.refuse', 'pgsched_internal.settle_called',
    'pgsched_internal.stalls', 'pgsched_internal.target_host'], 'pgsched_client');
  create policy mine on pgsched.clients for select to pgsched_client
    using (exists (select from pg_catalog.pg_roles r where r.rolname = database_role and pg_catalog.pg_has_role(r.oid, 'MEMBER')));
  foreach item in array array['pgsched.jobs', 'pgsched.executions', 'pgsched.history', 'pgsched.attempts', 'pgsched.rollups', 'pgsched.progress',
                              'pgsched_internal.kept_dead_letters', 'pgsched.blocked_keys', 'pgsched.audit_log'] loop
    execute format('create policy mine on %s for select to pgsched_client using (%s)', item, mine);
  end loop;
  foreach item in array array['pgsched.jobs', 'pgsched.executions'] loop
    execute format('create policy mine_new on %s for insert to pgsched_client with check (%s)', item, mine);
  end loop;
  create policy mine on pgsched.bulk_operations for select to pgsched_client using (clients <@ pgsched_internal.my_clients());
  create policy mine on pgsched.dependencies for select to pgsched_client
    -- Only the dependencies of executions that the role sees.
    using (exists (select from pgsched.executions e where e.id = dependencies.execution_id));
end $$;

-- Makes pgsched_owner the owner of everything, if the migrating role may do that. Functions that run with their owner's
-- rights then have only the rights of pgsched_owner, not those of a superuser.
do $$
declare
  item text;
begin
  if to_regrole('pgsched_owner') is null
     or not (select r.rolsuper from pg_catalog.pg_roles r where r.rolname = current_user) and not pg_has_role('pgsched_owner', 'MEMBER') then
    return;
  end if;
  for item in
    select format('alter schema %I owner to pgsched_owner', n.nspname) from pg_catalog.pg_namespace n
     where n.nspname in ('pgsched', 'pgsched_internal') and n.nspowner <> 'pgsched_owner'::regrole
    union all
    select format('alter %s %s owner to pgsched_owner', case c.relkind when 'v' then 'view' else 'table' end, c.oid::regclass)
      from pg_catalog.pg_class c
     where c.relnamespace in ('pgsched'::regnamespace, 'pgsched_internal'::regnamespace) and c.relkind in ('r', 'p', 'v')
       and c.relowner <> 'pgsched_owner'::regrole
    union all
    select format('alter sequence %s owner to pgsched_owner', c.oid::regclass) from pg_catalog.pg_class c
     where c.relnamespace = 'pgsched_internal'::regnamespace and c.relkind = 'S' and c.relname ~ '^watch_[0-9]+$'
       and c.relowner <> 'pgsched_owner'::regrole
    union all
    select format('alter function %s owner to pgsched_owner', p.oid::regprocedure) from pg_catalog.pg_proc p
     where p.pronamespace in ('pgsched'::regnamespace, 'pgsched_internal'::regnamespace) and p.proowner <> 'pgsched_owner'::regrole
    union all
    select format('alter %s %s owner to pgsched_owner', case t.typtype when 'd' then 'domain' else 'type' end, t.oid::regtype)
      from pg_catalog.pg_type t
     where t.typnamespace in ('pgsched'::regnamespace, 'pgsched_internal'::regnamespace)
       and (t.typtype in ('e', 'd') or exists (select from pg_catalog.pg_class c where c.oid = t.typrelid and c.relkind = 'c'))
       and t.typowner <> 'pgsched_owner'::regrole
  loop
    execute item;
  end loop;
end $$;
