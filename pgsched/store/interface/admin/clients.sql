-- Settings of a client: the defaults of its executions, its weight, its signing secrets, and whether it is paused.
-- These functions run with their owner's rights, because only the owner may write to clients and to the audit log. A
-- client's role can call those that it is granted, but only for its own client.

create or replace function pgsched_internal.check_may_set(client text) returns boolean
  language plpgsql stable as $$
begin
  if client is null or length(client) not between 1 and 100 then
    return pgsched_internal.refuse('PS000', 'the name of a client must be 1 to 100 characters', 'write client => ''payments''');
  elsif not pgsched_internal.acts_for(client) then
    return pgsched_internal.refuse('PS012', format('%I is not allowed to change the settings of client %L', pgsched_internal.acting_role(), client),
      'use SET ROLE to switch to a role that belongs to that client, or to a role that runs workers');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_may_set(text)
  is 'True if the session may change a client''s settings; raises PS000 or PS012 otherwise.';

create or replace function pgsched_internal.check_setting(name text, value jsonb) returns boolean
  language plpgsql immutable parallel safe as $$
declare
  advice text;
begin
  select s.advice into advice from (values
    ('weight', pgsched_internal.is_whole(value, 1, 100), 'write a whole number from 1 to 100'),
    ('keep', jsonb_typeof(value) = 'string' and value <@ '["all", "failures", "nothing"]', 'write all, failures or nothing'),
    ('dead_letters_for', pgsched_internal.is_duration(value, '1 hour', '3653 days'), 'write a duration from 1 hour to 3653 days, such as "90d"'),
    ('late_after', pgsched_internal.is_duration(value, '1 ms', '1 hour'), 'write a duration from 1 millisecond to 1 hour, such as "1s"'),
    ('on_time_share', coalesce(jsonb_typeof(value) = 'number' and length(value::text) < 20 and value::numeric between 0.5 and 0.9999, false),
     'write a number from 0.5 to 0.9999, such as 0.99'),
    ('max_waiting', pgsched_internal.is_whole(value, 1, 100000000),
     'write a whole number from 1 to 100000000, or null for no maximum; to stop a queue, pause it'),
    ('history_days', pgsched_internal.is_whole(value, 1, 3650), 'write a whole number from 1 to 3650'),
    ('audit_days', pgsched_internal.is_whole(value, 0, 36500), 'write a whole number from 0 to 36500; 0 keeps the audit log forever'),
    ('archive_history', jsonb_typeof(value) = 'boolean', 'write true or false'),
    ('hold', pgsched_internal.is_duration(value, '1 second', '3653 days'),
     'write a duration from 1 second to 3653 days, such as "PT1H" or "1h30m", or null for never')) as s(name, fits, advice)
   where s.name in (check_setting.name, substring(check_setting.name from '^(hold)_after_')) and value <> 'null' and not s.fits;
  return advice is null or pgsched_internal.refuse('PS000', format('"%s" cannot be %s', name, left(value::text, 100)), advice);
end $$;
comment on function pgsched_internal.check_setting(text, jsonb)
  is 'True if a value is valid for this setting of a client, a queue or the installation (null is valid); raises PS000
otherwise.';

create or replace function pgsched_internal.check_members(changes jsonb, known text[]) returns boolean
  language plpgsql immutable parallel safe as $$
declare
  unknown text;
begin
  perform pgsched_internal.check_length(changes, 'the changes are', 131072);
  if jsonb_typeof(changes) is distinct from 'object' then
    return pgsched_internal.refuse('PS000', 'changes must be a JSON object', 'write changes => ''{"weight": 5}''');
  end if;
  select min(name) into unknown from jsonb_object_keys(changes) as name where name <> all (known);
  if unknown is not null then
    return pgsched_internal.refuse('PS000', format('there is no setting %L', unknown), format('the settings are %s', array_to_string(known, ', ')));
  end if;
  perform pgsched_internal.check_setting(m.key, m.value) from jsonb_each(changes) m;
  return changes ->> 'options' is null or pgsched_internal.check_defaults(changes -> 'options');
end $$;
comment on function pgsched_internal.check_members(jsonb, text[])
  is 'True for valid changes to the settings of a client, a queue or the installation; raises PS000, PS001 or PS004
otherwise.';

create or replace function pgsched_internal.with_defaults(changes jsonb, defaults jsonb) returns jsonb language sql immutable parallel safe as $$
  select changes || coalesce(jsonb_object_agg(d.key, d.value), '{}') from jsonb_each(defaults) d where changes -> d.key = 'null'
$$;
comment on function pgsched_internal.with_defaults(jsonb, jsonb)
  is 'These changes, with each null replaced with the default.';

create or replace function pgsched_internal.is_whole(value jsonb, low bigint, high bigint) returns boolean
  language sql immutable parallel safe as $$
  select case when jsonb_typeof(value) = 'number' and value #>> '{}' ~ '^[0-9]{1,12}$' then (value #>> '{}')::bigint between low and high
              else false end
$$;
comment on function pgsched_internal.is_whole(jsonb, bigint, bigint)
  is 'True if a JSON value is a whole number within these bounds.';

-- The functions of sql: targets run as a client's role, so that role must not be able to do more than a client may. The
-- role must have no administrative rights, and must not be a member, directly or indirectly, of a predefined role of
-- PostgreSQL or of a role of pgsched.
create or replace function pgsched_internal.is_privileged(role name) returns boolean language sql stable as $$
  select coalesce(bool_or(p.rolsuper or p.rolcreaterole or p.rolcreatedb or p.rolreplication or p.rolbypassrls
                          or p.rolname like 'pg!_%' escape '!' or p.rolname in ('pgsched_owner', 'pgsched_worker', 'pgsched_api', 'pgsched_reader') or r.rolname = 'pgsched_client'
                          or p.oid in (select n.nspowner from pg_catalog.pg_namespace n where n.nspname in ('pgsched', 'pgsched_internal'))),
                  true)
    from pg_catalog.pg_roles r join pg_catalog.pg_roles p on p.oid = r.oid or pg_catalog.pg_has_role(r.oid, p.oid, 'MEMBER')
   where r.rolname = is_privileged.role
$$;
comment on function pgsched_internal.is_privileged(name)
  is 'True if a role does not exist, or has more privileges than a client should have.';

create or replace function pgsched_internal.check_channels(channels jsonb) returns boolean
  language plpgsql immutable parallel safe as $$
begin
  return jsonb_typeof(channels) = 'array' and jsonb_array_length(channels) between 1 and 20
         and not exists (select from jsonb_array_elements(channels) c(name)
                          where not (c.name <@ '["http", "python", "sql", "notify", "kafka"]'
                                     or coalesce(jsonb_typeof(c.name) = 'string' and c.name #>> '{}' like 'notify:%' and pgsched_internal.check_target(c.name #>> '{}'), false)))
    or pgsched_internal.refuse('PS000', format('channels cannot be %s', left(channels::text, 100)),
         'write a list with any of http, python, sql, notify, notify:CHANNEL and kafka, or null to allow all');
end $$;
comment on function pgsched_internal.check_channels(jsonb)
  is 'True for a valid list of channels; raises PS000 with a hint otherwise.';

create or replace function pgsched_internal.check_client_changes(changes jsonb) returns boolean
  language plpgsql stable as $$
begin
  perform pgsched_internal.check_members(changes, array['keep', 'options', 'weight', 'database_role', 'channels', 'dead_letter_target', 'dead_letters_for', 'late_after', 'on_time_share']);
  if jsonb_typeof(changes -> 'database_role') not in ('string', 'null') or changes ->> 'database_role' is not null
      and not exists (select from pg_catalog.pg_roles r where r.rolname = changes ->> 'database_role') then
    return pgsched_internal.refuse('PS000', format('there is no database role %s', left((changes -> 'database_role')::text, 100)),
      'create it first, with create role payments login in role pgsched_client');
  elsif changes ?| array['database_role', 'channels'] and not pgsched_internal.may_do_everything() and not pgsched_internal.api_administers() then
    return pgsched_internal.refuse('PS012', format('%I is not allowed to change the database_role or channels of a client', pgsched_internal.acting_role()),
      'leave database_role and channels out, or ask an operator');
  elsif changes ->> 'database_role' is not null and pgsched_internal.is_privileged((changes ->> 'database_role')::name) then
    return pgsched_internal.refuse('PS000', format('the role %I has more privileges than a client should', changes ->> 'database_role'),
      'create a role for the client, with create role payments login in role pgsched_client');
  elsif changes ->> 'channels' is not null and not pgsched_internal.check_channels(changes -> 'channels') then
    return false;
  elsif changes ? 'weight' and not pgsched_internal.check_administers() then
    return false;
  elsif changes ->> 'dead_letter_target' is not null then
    return pgsched_internal.check_target(changes ->> 'dead_letter_target');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_client_changes(jsonb)
  is 'True for changes that pgsched.set_client can apply; raises PS000, PS001, PS004 or PS012 with a hint otherwise.';

create or replace function pgsched.set_client(client text, changes jsonb default '{}', actor text default null) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  before pgsched.clients;
  after pgsched.clients;
  made boolean;
begin
  perform pgsched_internal.check_said(null, set_client.actor);
  perform pgsched_internal.check_may_set(client);
  perform pgsched_internal.check_client_changes(changes);
  insert into pgsched.clients (client_id) values (client) on conflict do nothing;
  made := found;
  select * into before from pgsched.clients c where c.client_id = client for update;
  after := jsonb_populate_record(before, pgsched_internal.with_defaults(changes,
    '{"keep": "all", "weight": 1, "dead_letters_for": "365 days", "on_time_share": 0.99}'));
  if after is distinct from before then
    update pgsched.clients c
       set keep = after.keep, options = after.options, weight = after.weight, database_role = after.database_role, channels = after.channels,
           dead_letter_target = after.dead_letter_target, dead_letters_for = after.dead_letters_for, late_after = after.late_after,
           on_time_share = after.on_time_share
     where c.client_id = client;
  elsif not made then
    return false;
  end if;
  perform pgsched_internal.write_log('set client', null, set_client.actor, jsonb_strip_nulls(jsonb_build_object('client', client,
    'changed', (select jsonb_agg(name) from jsonb_object_keys(changes) as name))), 'client', client, client => set_client.client);
  return true;
end $$;
comment on function pgsched.set_client(text, jsonb, text)
  is 'Changes the given settings of a client: keep, options (the defaults of its executions), weight, database_role,
channels (the channels that it may use), dead_letter_target, dead_letters_for, late_after, and on_time_share (the share
of its attempts that should begin within late_after). A null restores the default. True if anything changed, or if the
client is new. Raises PS000, PS001 or PS004 for invalid values, and PS012 if the session may not do this.';

create or replace function pgsched.drop_client(client text, actor text default null) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pgsched_internal.check_said(null, drop_client.actor);
  perform pgsched_internal.check_may_set(client);
  if client = 'default' then
    perform pgsched_internal.refuse('PS011', 'the default client cannot be dropped', 'change its settings with pgsched.set_client');
  elsif exists (select from pgsched_internal.api_keys k where client = any (k.clients) and k.revoked_at is null) then
    perform pgsched_internal.refuse('PS011', format('client %L has API keys', client), 'revoke them first');
  elsif exists (select from pgsched.clients c where c.client_id = client and c.channels is not null)
        and not pgsched_internal.may_do_everything() and not pgsched_internal.api_administers() then
    perform pgsched_internal.refuse('PS012', format('client %L is restricted to some channels, and dropping its settings would lift this restriction', client),
      'ask an operator');
  end if;
  -- Ends the hold. Without this, the hold would remain although nothing records it any longer.
  perform pgsched_internal.set_paused(false, 'client', client, null, null, null, drop_client.actor);
  delete from pgsched.clients c where c.client_id = client;
  if not found then
    return false;
  end if;
  perform pgsched_internal.write_log('drop client', null, drop_client.actor, jsonb_build_object('client', client), 'client', client,
    client => drop_client.client);
  return true;
end $$;
comment on function pgsched.drop_client(text, text)
  is 'Removes all settings of a client, including its signing secrets, and ends its hold. Its jobs and executions stay,
and use the defaults. False if the client had no settings. Raises PS011 for the client default and for a client with API
keys.';

create or replace function pgsched_internal.set_client_paused(paused boolean, client text, note text) returns boolean
  language plpgsql volatile as $$
begin
  if paused then
    insert into pgsched.clients (client_id) values (client) on conflict do nothing;
  end if;
  update pgsched.clients c
     set state = case when paused then 'held' else 'active' end, reason = case when paused then note end
   where c.client_id = client and (c.state = 'held') <> paused;
  if not found then
    return false;
  elsif paused then
    perform pgsched_internal.shut_gate('client:' || client, 'infinity', note);
  else
    perform pgsched_internal.open_gate('client:' || client);
  end if;
  return true;
end $$;
comment on function pgsched_internal.set_client_paused(boolean, text, text)
  is 'Pauses or resumes a client. While it is paused, none of its executions begin; running ones continue. False if
nothing changed.';
