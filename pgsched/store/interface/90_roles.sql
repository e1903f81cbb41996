-- Rights. Roles are made by roles.sql, where the migrating role may; a role that is missing is passed over here.
-- PUBLIC may do nothing. A client sees and changes its own rows only: those of the clients whose database_role it has.

revoke all on schema pgsched from public;
revoke all on all tables in schema pgsched from public;
revoke all on all functions in schema pgsched from public;

create or replace function pgsched.my_clients() returns text[] language sql stable parallel safe as $$
  select array(select c.client_id from pgsched.clients c join pg_catalog.pg_roles r on r.rolname = c.database_role
                where pg_catalog.pg_has_role(r.oid, 'MEMBER'))
$$;
revoke all on function pgsched.my_clients() from public;
comment on function pgsched.my_clients() is 'The clients whose rows the current role may see and change.';

alter table pgsched.clients enable row level security;
alter table pgsched.former_secrets enable row level security;
alter table pgsched.jobs enable row level security;
alter table pgsched.executions enable row level security;
alter table pgsched.history enable row level security;
alter table pgsched.attempts enable row level security;
alter table pgsched.dependencies enable row level security;
alter table pgsched.backfills enable row level security;
alter table pgsched.kept_dead_letters enable row level security;
alter table pgsched.replays enable row level security;
alter table pgsched.blocked_keys enable row level security;

do $$
declare
  item text;
begin
  for item in select format('drop policy %I on %s', p.polname, p.polrelid::regclass) from pg_catalog.pg_policy p
               join pg_catalog.pg_class c on c.oid = p.polrelid where c.relnamespace = 'pgsched'::regnamespace
  loop
    execute item;
  end loop;

  if to_regrole('pgsched_worker') is not null then
    grant usage on schema pgsched to pgsched_worker;
    grant select, insert, update, delete on all tables in schema pgsched to pgsched_worker;
    grant usage on all sequences in schema pgsched to pgsched_worker;
    grant execute on all functions in schema pgsched to pgsched_worker;
    foreach item in array array['clients', 'former_secrets', 'jobs', 'executions', 'history', 'attempts', 'dependencies',
                              'backfills', 'kept_dead_letters', 'replays', 'blocked_keys'] loop
      execute format('create policy worker on pgsched.%I to pgsched_worker using (true) with check (true)', item);
    end loop;
  end if;

  if to_regrole('pgsched_reader') is not null then
    grant usage on schema pgsched to pgsched_reader;
    grant select on pgsched.status, pgsched.jobs, pgsched.executions, pgsched.history, pgsched.attempts, pgsched.dependencies,
      pgsched.queues, pgsched.workers, pgsched.audit_log, pgsched.backfills, pgsched.facts to pgsched_reader;
    grant select on pgsched.dead_letters, pgsched.kept_dead_letters, pgsched.replays, pgsched.blocked_keys, pgsched.gates,
      pgsched.gate_use, pgsched.sidelined to pgsched_reader;
    grant select (client_id, keep, options, weight, state, reason, database_role, dead_letter_target, dead_letters_for,
      created_at) on pgsched.clients to pgsched_reader;
    grant execute on function pgsched.now(), pgsched.target_host(text) to pgsched_reader;
    foreach item in array array['clients', 'jobs', 'executions', 'history', 'attempts', 'dependencies',
                              'backfills', 'kept_dead_letters', 'replays', 'blocked_keys'] loop
      execute format('create policy reader on pgsched.%I for select to pgsched_reader using (true)', item);
    end loop;
  end if;

  if to_regrole('pgsched_client') is not null then
    grant usage on schema pgsched to pgsched_client;
    grant select on pgsched.status, pgsched.queues, pgsched.jobs, pgsched.executions, pgsched.history, pgsched.attempts,
      pgsched.dependencies, pgsched.backfills to pgsched_client;
    grant select on pgsched.dead_letters, pgsched.kept_dead_letters, pgsched.replays, pgsched.blocked_keys to pgsched_client;
    grant select (client_id, keep, options, weight, state, reason, database_role, dead_letter_target, dead_letters_for,
      created_at) on pgsched.clients to pgsched_client;
    grant insert (id, fire_at, scheduled_for, job_id, partition, client_id, target, payload, options, key, ordering_key),
          update (fire_at, scheduled_for, target, payload, options, attempt), delete on pgsched.executions to pgsched_client;
    grant insert (id, client_id, key, queue, ordering_key, target, payload, options, rules, labels, cron, timezone, every, anchor,
                  gap, overlap),
          update (key, queue, ordering_key, target, payload, options, rules, labels, cron, timezone, every, anchor, gap, overlap,
                  state, reason, revision, runs, paused_at, accounted_to, updated_at) on pgsched.jobs to pgsched_client;
    grant insert on pgsched.history to pgsched_client;
    grant execute on all functions in schema pgsched to pgsched_client;
    revoke execute on function pgsched.prepare_days(integer), pgsched.drop_days(integer), pgsched.release_dependents(integer),
      pgsched.release_abandoned(integer), pgsched.note_ends(uuid[], pgsched.execution_status[], timestamptz[], text[]),
      pgsched.skip_dependents(uuid[]), pgsched.fire_dependents(uuid[]), pgsched.tell_outcome(uuid, uuid, text, text, text, jsonb, smallint,
      timestamptz, smallint, pgsched.execution_status, smallint, jsonb, text),
      pgsched.count_outcome(uuid, pgsched.execution_status) from pgsched_client;
    revoke execute on function pgsched.write_log(text, uuid, text, jsonb), pgsched.lock_dead_letter(uuid), pgsched.unblock_after(uuid[]),
      pgsched.mark_dead_letter(pgsched.history, uuid, text), pgsched.superseded_by(pgsched.history),
      pgsched.revive(pgsched.history, timestamptz, text, jsonb, jsonb, text), pgsched.advance_replay(uuid, integer),
      pgsched.replay_next(pgsched.replays, uuid, timestamptz), pgsched.keep_dead_letters(integer, integer),
      pgsched.is_kept(text, timestamptz), pgsched.expire_dead_letters(integer) from pgsched_client;
    revoke execute on function pgsched.new_token(smallint), pgsched.take_in_hand(uuid, bigint),
      pgsched.end_in_hand(pgsched.executions, pgsched.execution_status, jsonb, text, boolean),
      pgsched.fail_in_hand(pgsched.executions, text, boolean, interval, boolean), pgsched.lose_in_hand(pgsched.executions),
      pgsched.reap_in_hand(smallint, integer), pgsched.take_turn(pgsched.executions), pgsched.may_be_handed_out(smallint, uuid),
      pgsched.due_to_pull(smallint, integer, integer, text[]), pgsched.until_next(text),
      pgsched.check_claim(text, text, integer, interval), pgsched.check_lease(interval), pgsched.seconds_in(jsonb, text),
      pgsched.duration_text(double precision), pgsched.attempts_allowed(jsonb), pgsched.laid_over(jsonb, jsonb),
      pgsched.options_of(pgsched.executions), pgsched.lateness(jsonb, integer, double precision),
      pgsched.backoff(jsonb, integer, double precision), pgsched.queue_to_tell(smallint, text),
      pgsched.after_failure(jsonb, integer, double precision, text, boolean, interval, double precision) from pgsched_client;
    revoke execute on function pgsched.waits_for_own(smallint, uuid), pgsched.is_of_key(smallint, uuid, text, text),
      pgsched.let_next(smallint, text, text),
      pgsched.block_key(smallint, text, text, uuid, text), pgsched.shut_gate(text, timestamptz, text), pgsched.open_gate(text, boolean) from pgsched_client;
    -- Settings: granted to a client's role, those of clients let it change its own.
    revoke execute on function pgsched.set_client(text, jsonb, text), pgsched.drop_client(text, text),
      pgsched.hold_client(text, text, text), pgsched.release_client(text, text, text),
      pgsched.rotate_secret(text, text, interval, text), pgsched.drop_secret(text, text), pgsched.new_secret(),
      pgsched.check_may_set(text), pgsched.check_client_changes(jsonb), pgsched.log_setting(text, text, jsonb),
      pgsched.create_queue(text, jsonb, text), pgsched.set_queue(text, jsonb, text), pgsched.drop_queue(text, text),
      pgsched.pause_queue(text, text, text), pgsched.resume_queue(text, text, text), pgsched.lock_queue(text),
      pgsched.next_queue_number(), pgsched.make_partition(integer), pgsched.drop_partitions(pgsched.queues),
      pgsched.check_empty(pgsched.queues), pgsched.check_queue_changes(jsonb), pgsched.check_members(jsonb, text[]),
      pgsched.set_limit(text, text, integer, interval, integer, integer, text), pgsched.drop_limit(text, text, text),
      pgsched.sideline(text, text, timestamptz, text, text), pgsched.restore(text, text, text), pgsched.check_may_sideline(text)
      from pgsched_client;
    create policy mine on pgsched.clients for select to pgsched_client
      using (exists (select from pg_catalog.pg_roles r where r.rolname = database_role and pg_catalog.pg_has_role(r.oid, 'MEMBER')));
    create policy mine on pgsched.jobs to pgsched_client
      using (client_id = any (array(select unnest(pgsched.my_clients())))) with check (client_id = any (array(select unnest(pgsched.my_clients()))));
    create policy mine on pgsched.executions for select to pgsched_client
      using (client_id = any (array(select unnest(pgsched.my_clients()))));
    create policy mine_new on pgsched.executions for insert to pgsched_client
      with check (client_id = any (array(select unnest(pgsched.my_clients()))) and (job_id is null
        or exists (select from pgsched.jobs j where j.id = executions.job_id and j.client_id = executions.client_id)));
    -- A running row may be looked at for update, so that the functions can say that it runs, but not changed.
    create policy mine_waiting on pgsched.executions for update to pgsched_client
      using (client_id = any (array(select unnest(pgsched.my_clients()))))
      with check (client_id = any (array(select unnest(pgsched.my_clients()))) and lease_token is null);
    create policy mine_withdrawn on pgsched.executions for delete to pgsched_client
      using (client_id = any (array(select unnest(pgsched.my_clients()))) and lease_token is null);
    create policy mine on pgsched.history for select to pgsched_client
      using (client_id = any (array(select unnest(pgsched.my_clients()))));
    create policy mine_ended on pgsched.history for insert to pgsched_client
      with check (client_id = any (array(select unnest(pgsched.my_clients()))) and status in ('cancelled', 'skipped')
        and (job_id is null or exists (select from pgsched.jobs j where j.id = history.job_id and j.client_id = history.client_id)));
    create policy mine on pgsched.attempts for select to pgsched_client
      using (client_id = any (array(select unnest(pgsched.my_clients()))));
    create policy mine on pgsched.kept_dead_letters for select to pgsched_client
      using (client_id = any (array(select unnest(pgsched.my_clients()))));
    create policy mine on pgsched.blocked_keys for select to pgsched_client
      using (client_id = any (array(select unnest(pgsched.my_clients()))));
    create policy mine on pgsched.replays for select to pgsched_client using (clients <@ pgsched.my_clients());
    create policy mine on pgsched.dependencies for select to pgsched_client
      using (exists (select from pgsched.executions e where e.id = dependencies.execution_id));  -- of those that it sees
    create policy mine on pgsched.backfills for select to pgsched_client
      using (exists (select from pgsched.jobs j where j.id = job_id));  -- of which it sees its own
  end if;
end $$;
