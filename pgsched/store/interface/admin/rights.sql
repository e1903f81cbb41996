-- Rights, as lists: what is not named here, a role may not do. Roles are made by roles.sql, where the migrating role may; one
-- that is missing is passed over here. PUBLIC may do nothing. In the schema pgsched a client calls verbs, which run with their
-- owner's rights and judge by the role that the session acts as, reads the rows of the clients whose database_role it has, and inserts
-- executions and jobs of theirs. It may lock nothing by itself: no UPDATE, no DELETE. Of the schema pgsched_internal it reads
-- what views show it, and executes what CHECK constraints, defaults, policies and the commands' questions about its own rows call.

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
comment on function pgsched_internal.grant_execute(text[], regrole) is 'Grants all functions of these names to a role; called by migrations.';

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

-- Nothing that an earlier release granted stays.
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
  -- Of all at once: each statement writes the row of each function anew.
  select concat_ws(', ', 'public', string_agg(quote_ident(r.rolname), ', ')) into item from pg_catalog.pg_roles r
   where r.rolname in ('pgsched_worker', 'pgsched_api', 'pgsched_client', 'pgsched_reader');
  execute format('revoke all on schema pgsched, pgsched_internal from %s', item);
  execute format('revoke all on all tables in schema pgsched, pgsched_internal from %s', item);
  execute format('revoke all on all sequences in schema pgsched, pgsched_internal from %s', item);
  execute format('revoke all on all functions in schema pgsched, pgsched_internal from %s', item);
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
  grant select on pgsched.clients, pgsched_internal.signing_secrets, pgsched_internal.secrets, pgsched.schema_version, pgsched.installation, pgsched.status, pgsched_internal.live, pgsched_internal.ended, pgsched_internal.live_status, pgsched_internal.ended_status, pgsched.dead_letters,
    pgsched.sidelined, pgsched.undeliverable, pgsched.rollups, pgsched.minutes to pgsched_worker;
  grant select, update (worker) on pgsched_internal.draining to pgsched_worker;
  grant select (id, subject, clients, scopes, created_at, expires_at, last_used_at, revoked_at, former_until, rate, burst) on pgsched_internal.api_keys to pgsched_worker;
  grant usage on sequence pgsched.workers_id_seq, pgsched.audit_log_id_seq to pgsched_worker;
  grant select on sequence pgsched.workers_id_seq, pgsched.audit_log_id_seq to pgsched_worker, pgsched_api, pgsched_reader;  -- for the doctor
  for item in select i.inhrelid::regclass from pg_catalog.pg_inherits i where i.inhparent = 'pgsched.executions'::regclass loop
    execute format('grant select, insert, update, delete on %s to pgsched_worker', item);  -- hot statements name the partition
  end loop;
  perform pgsched_internal.grant_execute(array[
    'pgsched.bulk', 'pgsched.cancel', 'pgsched.claim',
    'pgsched.complete', 'pgsched.create_queue', 'pgsched.discard', 'pgsched.drop_client',
    'pgsched.drop_limit', 'pgsched.drop_queue', 'pgsched.drop_secret', 'pgsched.drop_signing_secret', 'pgsched.edit', 'pgsched.extend', 'pgsched.fail',
    'pgsched.now', 'pgsched.partition_for', 'pgsched.pause', 'pgsched.release',
    'pgsched.replay', 'pgsched.resume',
    'pgsched.schedule', 'pgsched.set_client', 'pgsched.set_installation', 'pgsched.set_limit', 'pgsched.set_queue',
    'pgsched.schedule_outcome', 'pgsched.secrets', 'pgsched.status_of', 'pgsched.signing_secrets', 'pgsched.stop_bulk', 'pgsched.trigger'],
    'pgsched_worker');
  -- What their statements call, and what a function calls in turn that does not run with its owner's rights.
  perform pgsched_internal.grant_execute(array[
    'pgsched_internal.acting_role', 'pgsched_internal.advance_bulk', 'pgsched_internal.any_partition_of',
    'pgsched_internal.adopt_strays', 'pgsched_internal.authenticated', 'pgsched_internal.create_key',
    'pgsched_internal.crowding', 'pgsched_internal.has_keys', 'pgsched_internal.is_api', 'pgsched_internal.look_up_keys', 'pgsched_internal.may_do_everything',
    'pgsched_internal.note_key_use', 'pgsched_internal.put_secret', 'pgsched_internal.reseal', 'pgsched_internal.reseal_signing', 'pgsched_internal.seconds_since', 'pgsched_internal.revoke_key', 'pgsched_internal.rotate_key', 'pgsched_internal.rotate_signing_secret', 'pgsched_internal.schedule_together', 'pgsched_internal.set_key_rate',
    'pgsched_internal.attach_day', 'pgsched_internal.attempts_in', 'pgsched_internal.backoff', 'pgsched_internal.block_key',
    'pgsched_internal.bury', 'pgsched_internal.capability_of', 'pgsched_internal.catalogue', 'pgsched_internal.days_of', 'pgsched_internal.check_body', 'pgsched_internal.check_changes',
    'pgsched_internal.check_cron', 'pgsched_internal.check_defaults', 'pgsched_internal.check_in', 'pgsched_internal.check_labels', 'pgsched_internal.check_length',
    'pgsched_internal.check_options', 'pgsched_internal.check_partition', 'pgsched_internal.check_payload',
    'pgsched_internal.check_pulled', 'pgsched_internal.check_rules', 'pgsched_internal.check_target', 'pgsched_internal.canonical_host', 'pgsched_internal.check_zone',
    'pgsched_internal.buckets', 'pgsched_internal.count_later', 'pgsched_internal.count_live', 'pgsched_internal.count_outcome', 'pgsched_internal.days_to_archive', 'pgsched_internal.days_to_drop', 'pgsched_internal.days_to_make',
    'pgsched_internal.decide', 'pgsched_internal.decide_failure', 'pgsched_internal.default_attempts', 'pgsched_internal.dependents_of',
    'pgsched_internal.digits_in', 'pgsched_internal.numbers_in', 'pgsched_internal.drop_day', 'pgsched_internal.duration_text', 'pgsched_internal.edited',
    'pgsched_internal.end_execution', 'pgsched_internal.end_if_late', 'pgsched_internal.end_in_hand', 'pgsched_internal.end_overdue', 'pgsched_internal.expire_dead_letters',
    'pgsched_internal.fail_in_hand', 'pgsched_internal.fault_of_json', 'pgsched_internal.fire_dependents',
    'pgsched_internal.first_partition_of', 'pgsched_internal.follow_end', 'pgsched_internal.forget_dependencies',
    'pgsched_internal.give_key', 'pgsched_internal.hand_back', 'pgsched_internal.held', 'pgsched_internal.held_until', 'pgsched_internal.waited', 'pgsched_internal.homes_of', 'pgsched_internal.in_history',
    'pgsched_internal.in_partition', 'pgsched_internal.is_a_lock', 'pgsched_internal.is_ahead', 'pgsched_internal.is_blocked', 'pgsched_internal.block_while_called', 'pgsched_internal.is_current', 'pgsched_internal.is_duration',
    'pgsched_internal.is_free_to_end', 'pgsched_internal.is_instant', 'pgsched_internal.is_live', 'pgsched_internal.is_living',
    'pgsched_internal.is_of_a_row', 'pgsched_internal.is_of_key', 'pgsched_internal.is_privileged', 'pgsched_internal.is_watched',
    'pgsched_internal.keep_dead_letters', 'pgsched_internal.key_retention', 'pgsched_internal.laid_over', 'pgsched_internal.lateness',
    'pgsched_internal.leave_watch', 'pgsched_internal.length_of', 'pgsched_internal.let_next', 'pgsched_internal.live_execution',
    'pgsched_internal.live_of_instant', 'pgsched_internal.lock_key', 'pgsched_internal.look_through_dead_letters',
    'pgsched_internal.lose_in_hand', 'pgsched_internal.make_day', 'pgsched_internal.mark_dead_letter', 'pgsched_internal.mark_ends', 'pgsched_internal.may_count',
    'pgsched_internal.new_id_in', 'pgsched_internal.not_found_at_once', 'pgsched_internal.note_ends', 'pgsched_internal.note_ends_with',
    'pgsched_internal.notify_release',
    'pgsched_internal.notify_turns', 'pgsched_internal.notify_wake', 'pgsched_internal.notify_workers', 'pgsched_internal.options_of',
    'pgsched_internal.partition_in', 'pgsched_internal.partition_of', 'pgsched_internal.partition_with', 'pgsched_internal.partitions_of',
    'pgsched_internal.partitions_per_queue', 'pgsched_internal.put_away', 'pgsched_internal.queue_number_of',
    'pgsched_internal.queue_to_tell', 'pgsched_internal.reap_in_hand', 'pgsched_internal.record_in_hand',
    'pgsched_internal.recall', 'pgsched_internal.follow_change', 'pgsched_internal.replan_from', 'pgsched_internal.hold_withdrawn', 'pgsched_internal.record_result', 'pgsched_internal.record_results', 'pgsched_internal.refuse', 'pgsched_internal.release_abandoned',
    'pgsched_internal.release_dependents', 'pgsched_internal.change_chunk', 'pgsched_internal.change_execution', 'pgsched_internal.change_or_come_back', 'pgsched_internal.is_named', 'pgsched_internal.next_of_many', 'pgsched_internal.next_partition', 'pgsched_internal.change_letter',
    'pgsched_internal.revive', 'pgsched_internal.roll_up', 'pgsched_internal.roll_up_notes', 'pgsched_internal.sealed_with', 'pgsched_internal.seconds_in', 'pgsched_internal.set_aside',
    'pgsched_internal.setting', 'pgsched_internal.skip_dependents', 'pgsched_internal.skip_range', 'pgsched_internal.slot_for', 'pgsched_internal.spread_overdue',
    'pgsched_internal.stalls', 'pgsched_internal.superseded_by', 'pgsched_internal.take_watch', 'pgsched_internal.target_host',
    'pgsched_internal.tell_outcome', 'pgsched_internal.tidy_keys', 'pgsched_internal.trim_default_days', 'pgsched_internal.try_lock',
    'pgsched_internal.try_gates', 'pgsched_internal.try_orderings', 'pgsched_internal.unblock_after', 'pgsched_internal.until_next',
    'pgsched_internal.waits_for_own',
    'pgsched_internal.watch_of', 'pgsched_internal.weeks_of_history', 'pgsched_internal.written_out', 'pgsched_internal.call_target',
    'pgsched_internal.settle_called', 'pgsched_internal.mark_archived', 'pgsched_internal.new_id', 'pgsched_internal.quantile'], 'pgsched_worker');
  foreach item in array array['pgsched.clients', 'pgsched_internal.signing_secrets', 'pgsched_internal.secrets', 'pgsched.jobs', 'pgsched.executions', 'pgsched.history',
                              'pgsched.attempts', 'pgsched.rollups', 'pgsched.progress', 'pgsched.dependencies', 'pgsched_internal.kept_dead_letters',
                              'pgsched.bulk_operations', 'pgsched.blocked_keys', 'pgsched_internal.gates', 'pgsched_internal.api_keys', 'pgsched.audit_log'] loop
    execute format('create policy worker on %s to pgsched_worker using (true) with check (true)', item);
  end loop;
  create policy worker on pgsched_internal.facts for select to pgsched_worker using (true);
  create policy worker_set on pgsched_internal.facts to pgsched_worker using (name like 'tzdata%');  -- a migration executes what others say
end $$;

-- The API. It acts for the clients of the key that a request came with, which its sessions say by a setting; it may update no execution,
-- so it is not among those that may do everything. It plans the jobs that it makes, and what a page shows it looks up itself.
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
    'pgsched.bulk', 'pgsched.cancel', 'pgsched.claim',
    'pgsched.complete', 'pgsched.create_queue', 'pgsched.discard', 'pgsched.drop_client',
    'pgsched.drop_limit', 'pgsched.drop_queue', 'pgsched.drop_secret', 'pgsched.drop_signing_secret', 'pgsched.edit', 'pgsched.extend', 'pgsched.fail',
    'pgsched.now', 'pgsched.partition_for', 'pgsched.pause', 'pgsched.release',
    'pgsched.replay', 'pgsched.resume',
    'pgsched.schedule', 'pgsched.schedule_outcome', 'pgsched.set_client', 'pgsched.set_limit', 'pgsched.set_queue',
    'pgsched.secrets', 'pgsched.signing_secrets', 'pgsched.status_of', 'pgsched.stop_bulk', 'pgsched.trigger'], 'pgsched_api');
  perform pgsched_internal.grant_execute(array[
    'pgsched_internal.acting_role', 'pgsched_internal.acts_for', 'pgsched_internal.api_acts_for_all', 'pgsched_internal.api_administers',
    'pgsched_internal.api_clients', 'pgsched_internal.catalogue', 'pgsched_internal.days_of', 'pgsched_internal.check_auth', 'pgsched_internal.check_body_option', 'pgsched_internal.check_backoff', 'pgsched_internal.check_changes',
    'pgsched_internal.check_cron', 'pgsched_internal.check_delivery', 'pgsched_internal.check_exclusion', 'pgsched_internal.check_headers',
    'pgsched_internal.check_labels', 'pgsched_internal.check_length', 'pgsched_internal.check_lists', 'pgsched_internal.check_options',
    'pgsched_internal.check_partition', 'pgsched_internal.check_payload', 'pgsched_internal.check_pulled', 'pgsched_internal.check_retries',
    'pgsched_internal.check_rules', 'pgsched_internal.check_spec', 'pgsched_internal.check_target', 'pgsched_internal.canonical_host', 'pgsched_internal.check_told',
    'pgsched_internal.check_zone', 'pgsched_internal.count_live', 'pgsched_internal.create_key', 'pgsched_internal.crowding',
    'pgsched_internal.digits_in', 'pgsched_internal.numbers_in', 'pgsched_internal.seconds_since', 'pgsched_internal.edited', 'pgsched_internal.fault_of_json', 'pgsched_internal.fault_of_values',
    'pgsched_internal.first_partition_of', 'pgsched_internal.has_keys', 'pgsched_internal.has_no_such_day', 'pgsched_internal.in_partition',
    'pgsched_internal.is_api', 'pgsched_internal.is_day', 'pgsched_internal.is_duration', 'pgsched_internal.is_instant',
    'pgsched_internal.is_living', 'pgsched_internal.length_of', 'pgsched_internal.look_up_keys', 'pgsched_internal.may_do_everything', 'pgsched_internal.note_key_use',
    'pgsched_internal.partition_of', 'pgsched_internal.partitions_of', 'pgsched_internal.partitions_per_queue', 'pgsched_internal.put_secret', 'pgsched_internal.queue_number_of', 'pgsched_internal.refuse',
    'pgsched_internal.revoke_key', 'pgsched_internal.rotate_key', 'pgsched_internal.rotate_signing_secret', 'pgsched_internal.schedule_together', 'pgsched_internal.sealed_with', 'pgsched_internal.set_key_rate', 'pgsched_internal.seconds_in', 'pgsched_internal.skip_range',
    'pgsched_internal.slot_for', 'pgsched_internal.spread_overdue', 'pgsched_internal.stalls', 'pgsched_internal.target_host', 'pgsched_internal.until_next',
    'pgsched_internal.buckets', 'pgsched_internal.written_out', 'pgsched_internal.new_id', 'pgsched_internal.quantile'], 'pgsched_api');
  foreach item in array array['pgsched.clients', 'pgsched.jobs', 'pgsched.executions', 'pgsched.history', 'pgsched.attempts', 'pgsched.rollups', 'pgsched.progress',
                              'pgsched_internal.kept_dead_letters', 'pgsched.blocked_keys'] loop
    execute format('create policy api on %s for select to pgsched_api using (%s)', item, mine);
  end loop;
  execute format('create policy api_new on pgsched.executions for insert to pgsched_api with check (%s)', mine);
  execute format('create policy api_set on pgsched.jobs for update to pgsched_api using (%s)', mine);
  create policy api on pgsched.bulk_operations for select to pgsched_api
    using ((select pgsched_internal.api_acts_for_all()) or clients <@ (select pgsched_internal.api_clients()));
  create policy api on pgsched.dependencies for select to pgsched_api
    using (exists (select from pgsched.executions e where e.id = dependencies.execution_id));  -- of those that it sees
  create policy api on pgsched_internal.gates for select to pgsched_api
    using ((select pgsched_internal.api_acts_for_all())
           or client_id = any (array(select unnest(pgsched_internal.api_clients()))));
  create policy api on pgsched.audit_log for select to pgsched_api using ((select pgsched_internal.api_administers())
    or client_id = any (array(select unnest(pgsched_internal.api_clients())))
    or client_id is not null and (select pgsched_internal.api_acts_for_all()));
  create policy api on pgsched_internal.api_keys for select to pgsched_api using ((select pgsched_internal.api_administers()));
  create policy api on pgsched_internal.facts for select to pgsched_api using (true);
end $$;

-- Whoever looks after it: reads everything but secrets, changes nothing.
do $$
declare
  item text;
begin
  if to_regrole('pgsched_reader') is null then
    return;
  end if;
  grant usage on schema pgsched, pgsched_internal to pgsched_reader;  -- of the latter what commands and pages show, and no more
  grant select on pgsched.status, pgsched.dead_letters, pgsched.sidelined, pgsched.undeliverable, pgsched.jobs, pgsched.executions, pgsched.history, pgsched.attempts, pgsched.rollups, pgsched.minutes,
    pgsched.progress, pgsched.dependencies, pgsched.queues, pgsched.installation, pgsched.workers, pgsched.audit_log, pgsched.bulk_operations, pgsched.blocked_keys
    to pgsched_reader;
  grant select on pgsched_internal.kept_dead_letters, pgsched_internal.gates, pgsched_internal.gate_use, pgsched_internal.facts,
    pgsched_internal.draining, pgsched_internal.former_workers, pgsched_internal.live, pgsched_internal.ended, pgsched.schema_version to pgsched_reader;
  grant select (id, subject, clients, scopes, created_at, expires_at, last_used_at, revoked_at, former_until, rate, burst) on pgsched_internal.api_keys to pgsched_reader;
  grant select (client_id, keep, options, weight, state, reason, database_role, channels, dead_letter_target, dead_letters_for,
    late_after, on_time_share, created_at) on pgsched.clients to pgsched_reader;
  perform pgsched_internal.grant_execute(array['pgsched.now', 'pgsched.secrets', 'pgsched.signing_secrets', 'pgsched.status_of', 'pgsched_internal.catalogue', 'pgsched_internal.days_of', 'pgsched_internal.count_live', 'pgsched_internal.first_partition_of',
    'pgsched_internal.is_living', 'pgsched_internal.partitions_of', 'pgsched_internal.partitions_per_queue', 'pgsched_internal.queue_number_of', 'pgsched_internal.sealed_with', 'pgsched_internal.seconds_since', 'pgsched_internal.buckets', 'pgsched_internal.stalls', 'pgsched_internal.canonical_host', 'pgsched_internal.target_host',
    'pgsched_internal.quantile'], 'pgsched_reader');  -- it acts for no client: it is told of no secret
  foreach item in array array['pgsched.clients', 'pgsched.jobs', 'pgsched.executions', 'pgsched.history', 'pgsched.attempts', 'pgsched.rollups', 'pgsched.progress', 'pgsched.dependencies',
                              'pgsched_internal.kept_dead_letters', 'pgsched.bulk_operations', 'pgsched.blocked_keys',
                              'pgsched_internal.gates', 'pgsched_internal.api_keys', 'pgsched_internal.facts', 'pgsched.audit_log'] loop
    execute format('create policy reader on %s for select to pgsched_reader using (true)', item);
  end loop;
end $$;

-- Clients. What is set of a client may be granted to its role beside this: then it changes its own.
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
  grant select on pgsched_internal.kept_dead_letters, pgsched_internal.live, pgsched_internal.ended, pgsched_internal.live_status,
    pgsched_internal.ended_status to pgsched_client;
  -- Not the token: with it a result could be forged.
  grant select (fire_at, scheduled_for, start_at, created_at, lease_expires_at, id, job_id, lease_owner, plan, uncounted, partition, attempt, priority, awaited, at_head,
    client_id, target, payload, options, key, ordering_key, gate, consumer, reason, labels, waits) on pgsched.executions to pgsched_client;
  grant select (client_id, ordering_key, partition, execution_id, reason, blocked_at, until) on pgsched.blocked_keys to pgsched_client;
  grant select (name, first_partition, weight, max_waiting, full_since, paused_at, reason, pulled) on pgsched.queues to pgsched_client;
  grant select (client_id, keep, options, weight, state, reason, database_role, channels, dead_letter_target, dead_letters_for,
    late_after, on_time_share, created_at) on pgsched.clients to pgsched_client;
  grant insert (fire_at, partition, client_id, target, payload, options, key, ordering_key, labels) on pgsched.executions to pgsched_client;
  grant insert (client_id, key, queue, ordering_key, target, payload, options, rules, labels, cron, timezone, every, anchor, gap, overlap)
    on pgsched.jobs to pgsched_client;
  perform pgsched_internal.grant_execute(array[
    'pgsched.bulk', 'pgsched.cancel', 'pgsched.claim',
    'pgsched.complete', 'pgsched.discard', 'pgsched.edit', 'pgsched.extend', 'pgsched.fail',
    'pgsched.now', 'pgsched.partition_for', 'pgsched.pause', 'pgsched.release', 'pgsched.replay',
    'pgsched.resume', 'pgsched.schedule', 'pgsched.schedule_outcome', 'pgsched.secrets', 'pgsched.status_of',
    'pgsched.signing_secrets', 'pgsched.stop_bulk', 'pgsched.trigger'], 'pgsched_client');
  -- Called by constraints, defaults, views and policies, and by commands.
  perform pgsched_internal.grant_execute(array[
    'pgsched_internal.buckets', 'pgsched_internal.canonical_host', 'pgsched_internal.partitions_of', 'pgsched_internal.check_cron', 'pgsched_internal.check_labels', 'pgsched_internal.check_options', 'pgsched_internal.check_partition',
    'pgsched_internal.check_payload', 'pgsched_internal.check_rules', 'pgsched_internal.check_target', 'pgsched_internal.first_partition_of', 'pgsched_internal.my_clients', 'pgsched_internal.partitions_per_queue',
    'pgsched_internal.refuse', 'pgsched_internal.stalls', 'pgsched_internal.target_host', 'pgsched_internal.call_target',
    'pgsched_internal.settle_called', 'pgsched_internal.new_id', 'pgsched_internal.quantile'], 'pgsched_client');
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
    using (exists (select from pgsched.executions e where e.id = dependencies.execution_id));  -- of those that it sees
end $$;

-- What runs with its owner's rights runs with those of a role that has no more than this, where the migrating role may say so:
-- not with a superuser's.
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
