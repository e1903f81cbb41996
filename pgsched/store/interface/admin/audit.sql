-- The audit log: who did what, with the values before and after. Column defaults add the subject that the API has
-- authenticated, and the session's login and process. Triggers record every change of a settings table, whoever makes
-- it. A function of pgsched that makes a change then sets the action, actor and detail of the recorded row.

create or replace function pgsched_internal.write_log(
  action text, subject uuid, actor text, detail jsonb default null, changed text default null, name text default null,
  before jsonb default null, after jsonb default null, client text default null
) returns void language plpgsql volatile as $$
#variable_conflict use_column
declare
  named constant text := coalesce(write_log.name, write_log.subject::text);
  who constant text := coalesce(write_log.actor, pgsched_internal.acting_role());
  said constant jsonb := pgsched_internal.shown('detail', write_log.detail);
begin
  update pgsched.audit_log a
     set actor = who, action = write_log.action, subject = coalesce(write_log.subject, a.subject), detail = said,
         client_id = coalesce(a.client_id, write_log.client)
   where a.transaction = pg_current_xact_id() and a.at = pgsched.now() and a.kind = changed and a.name = named and a.action in ('insert', 'update', 'delete');
  if not found then
    insert into pgsched.audit_log (actor, action, subject, kind, name, before, after, detail, client_id)
    values (who, write_log.action, write_log.subject, changed, case when changed is not null then named end,
            write_log.before, write_log.after, said, write_log.client);
  end if;
end $$;
comment on function pgsched_internal.write_log(text, uuid, text, jsonb, text, text, jsonb, jsonb, text)
  is 'Writes a row of the audit log, or completes the row in which a trigger has recorded this change. Without an actor,
the row names the role that the session acts as. Called after the caller''s rights have been checked.';

create or replace function pgsched_internal.detail_of(note text) returns jsonb language sql immutable parallel safe as $$
  select case when note is not null then jsonb_build_object('note', note) end
$$;
comment on function pgsched_internal.detail_of(text) is 'A note as the audit log stores it; null if there is no note.';

-- The value of a column that is not listed here (a payload, a hash, a secret, or any column that is added in future) is
-- replaced with its length. Headers keep only their names and their references to secrets. Addresses keep only the part
-- before the question mark.
create or replace function pgsched_internal.shown(name text, value jsonb) returns jsonb language plpgsql immutable parallel safe as $$
declare
  plain constant text[] := array['action', 'actor', 'anchor', 'burst', 'channels', 'client_id', 'clients', 'cron', 'database_role',
    'dead_letter_target', 'detail', 'dead_letters_for', 'declared_by', 'every', 'exceptions', 'expires_at', 'filter', 'fire_at', 'former_until', 'gap', 'held_since', 'hint', 'hold_after_absence', 'hold_after_promotion',
    'hold_after_restart', 'job_id', 'keep',
    'key', 'labels', 'options', 'ordering_key', 'overlap', 'paused_at', 'period', 'queue', 'reason', 'revoked_at', 'rules', 'scopes', 'shift',
    'state', 'subject', 'target', 'timezone', 'valid_until'];
  found jsonb := value;
begin
  if jsonb_typeof(value) in ('number', 'boolean', 'null') then
    return value;
  elsif name <> all (plain) or octet_length(value::text) > 4000 then
    return jsonb_build_object('bytes', octet_length(value::text));
  elsif name = 'options' and jsonb_typeof(value -> 'headers') = 'object' then
    found := value || jsonb_build_object('headers', (select coalesce(jsonb_object_agg(h.key,
      case when jsonb_typeof(h.value) = 'object' then h.value else '"…"' end), '{}') from jsonb_each(value -> 'headers') h));
  end if;
  return regexp_replace(found::text, E'("[a-zA-Z]+://[^"?#\\\\]*)[?#]([^"\\\\]|\\\\.)*"', E'\\1?…"', 'g')::jsonb;
end $$;
comment on function pgsched_internal.shown(text, jsonb)
  is 'The form in which the audit log stores a column''s value: without secrets and payloads, and at most a few KiB
long.';

create or replace function pgsched_internal.log_change(kind text, name text, subject uuid, before jsonb, after jsonb, client text) returns void
  language plpgsql volatile as $$
#variable_conflict use_column
declare
  ours constant text[] := array['id', 'revision', 'planned_revision', 'runs', 'failures', 'accounted_to', 'created_at', 'updated_at',
    'last_used_at', 'full_since', 'total', 'done', 'skipped', 'failed', 'partition', 'reached', 'reached_at', 'paced_until', 'next_at', 'shut_until', 'recovers_from', 'openings', 'failing_since'];
  was jsonb;
  is_now jsonb;
begin
  select jsonb_object_agg(b.key, pgsched_internal.shown(b.key, b.value)) into was from jsonb_each(jsonb_strip_nulls(before)) b
   where b.key <> all (ours) and b.value is distinct from after -> b.key;
  select jsonb_object_agg(a.key, pgsched_internal.shown(a.key, a.value)) into is_now from jsonb_each(jsonb_strip_nulls(after)) a
   where a.key <> all (ours) and a.value is distinct from before -> a.key;
  if num_nonnulls(was, is_now) = 0 then
    return;
  end if;
  insert into pgsched.audit_log as l (actor, action, subject, kind, name, before, after, client_id)
  values (pgsched_internal.acting_role(), case when before is null then 'insert' when after is null then 'delete' else 'update' end,
          log_change.subject, log_change.kind, log_change.name, was, is_now, log_change.client)
  on conflict (transaction, at, kind, name) where action in ('insert', 'update', 'delete') do update
    set before = case when l.before is not null then coalesce(excluded.before, '{}') || l.before end,
        after = case when excluded.action <> 'delete' then coalesce(l.after, '{}') || coalesce(excluded.after, '{}') end,
        action = case when l.action = 'insert' then 'insert' else excluded.action end;
end $$;
comment on function pgsched_internal.log_change(text, text, uuid, jsonb, jsonb, text)
  is 'Records the difference between two versions of a row in the audit log. All changes that one transaction makes to a
row share one entry.';

create or replace function pgsched_internal.client_of(kind text, found jsonb) returns text language sql stable as $$
  select case kind
    when 'key' then null  -- only administrators see keys, whichever clients the keys are for
    when 'bulk operation' then coalesce(found -> 'filter' ->> 'client', case when found -> 'clients' -> 1 is null then found -> 'clients' ->> 0 end)
    when 'limit' then case when found ->> 'name' like 'client:%' then substr(found ->> 'name', 8) end
    else found ->> 'client_id'
  end
$$;
comment on function pgsched_internal.client_of(text, jsonb)
  is 'The client that a row of this kind belongs to; null if the row does not belong to exactly one client.';

create or replace function pgsched_internal.changed() returns trigger
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  before constant jsonb := case when tg_op <> 'INSERT' then to_jsonb(old) end;
  after constant jsonb := case when tg_op <> 'DELETE' then to_jsonb(new) end;
  either constant jsonb := coalesce(after, before);
begin
  perform pgsched_internal.log_change(tg_argv[0], either ->> tg_argv[1],
    case when tg_nargs > 2 then (either ->> tg_argv[2])::uuid end, before, after, pgsched_internal.client_of(tg_argv[0], either));
  return null;
end $$;
comment on function pgsched_internal.changed()
  is 'Records the change of a row in the audit log. The trigger''s arguments are the kind, the column that contains the
name, and, if there is one, the column that contains the subject.';

-- The triggers fire only for columns that people set, because workers record their progress in the same rows.
create or replace trigger changed after insert or update or delete on pgsched.clients
  for each row execute function pgsched_internal.changed('client', 'client_id');
create or replace trigger changed after insert or update or delete on pgsched.installation
  for each row execute function pgsched_internal.changed('installation', 'name');
create or replace trigger changed
  after insert or delete or update of options, weight, max_waiting, paused_at, reason, pulled on pgsched.queues
  for each row execute function pgsched_internal.changed('queue', 'name');
create or replace trigger changed
  after insert or delete or update of client_id, key, queue, ordering_key, target, payload, options, rules, labels, cron, timezone, every, anchor,
    gap, overlap, state, declared_by, exceptions on pgsched.jobs
  for each row execute function pgsched_internal.changed('job', 'id', 'id');
create or replace trigger changed
  after insert or delete or update of hash, subject, clients, scopes, expires_at, revoked_at, rate, burst on pgsched_internal.api_keys
  for each row execute function pgsched_internal.changed('key', 'id');
create or replace trigger changed after insert or update of action, state, rate, target, fire_at, shift, filter on pgsched.bulk_operations
  for each row execute function pgsched_internal.changed('bulk operation', 'id', 'id');
-- The functions that shut gates write the log themselves, because workers also shut and reopen gates.
create or replace trigger changed after insert or update of events, period, burst, concurrency on pgsched_internal.gates
  for each row when (num_nonnulls(new.events, new.concurrency) > 0 and new.name not like 'circuit:%') execute function pgsched_internal.changed('limit', 'name');
create or replace trigger unlimited after update of events, period, burst, concurrency on pgsched_internal.gates
  for each row when (num_nonnulls(old.events, old.concurrency) > 0 and num_nonnulls(new.events, new.concurrency) = 0 and old.name not like 'circuit:%')
  execute function pgsched_internal.changed('limit', 'name');
create or replace trigger dropped after delete on pgsched_internal.gates
  for each row when (num_nonnulls(old.events, old.concurrency) > 0 and old.name not like 'circuit:%') execute function pgsched_internal.changed('limit', 'name');
