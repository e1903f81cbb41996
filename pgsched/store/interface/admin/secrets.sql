-- Secrets that options refer to. The API or the command line seals them before they are stored, and only workers open
-- them.

create or replace function pgsched_internal.put_secret(
  client text, name text, sealed bytea, hosts text[] default null, actor text default null
) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  keeps_hosts constant boolean := hosts is null;
  made boolean;
begin
  perform pgsched_internal.check_said(null, put_secret.actor);
  perform pgsched_internal.check_may_set(client);
  if cardinality(hosts) > 20 then
    perform pgsched_internal.refuse('PS000', 'a secret can have at most 20 hosts', 'store the secret twice, under two names');
  end if;
  hosts := array(select distinct substr(pgsched_internal.gate_of('host', h.name), length('host:') + 1) from unnest(hosts) h(name) order by 1);
  insert into pgsched.clients (client_id) values (client) on conflict do nothing;
  perform from pgsched.clients c where c.client_id = client for no key update;
  insert into pgsched_internal.secrets as s (client_id, name, sealed, hosts) values (client, put_secret.name, put_secret.sealed, put_secret.hosts)
  on conflict (client_id, name) do update set sealed = excluded.sealed, updated_at = pgsched.now(),
     hosts = case when keeps_hosts then s.hosts else excluded.hosts end
  returning s.created_at = s.updated_at into made;
  if made and (select count(*) from pgsched_internal.secrets s where s.client_id = client) > 100 then
    perform pgsched_internal.refuse('PS011', format('client %L has 100 secrets', client), 'drop one that is no longer used');
  end if;
  perform pgsched_internal.write_log('put secret', null, put_secret.actor, jsonb_build_object('client', client, 'secret', put_secret.name)
    || case when keeps_hosts then '{}' else jsonb_build_object('hosts', put_secret.hosts) end, 'secret', client || '/' || put_secret.name,
    client => put_secret.client);
  return made;
end $$;
comment on function pgsched_internal.put_secret(text, text, bytea, text[], text)
  is 'Stores a client''s secret, which the caller has sealed, and the hosts that it may be sent to. If hosts is null, a
secret that is replaced keeps its hosts. False if an existing secret was replaced. Raises PS011 if the client already
has 100 secrets.';

create or replace function pgsched.drop_secret(client text, name text, actor text default null) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  perform pgsched_internal.check_said(null, drop_secret.actor);
  perform pgsched_internal.check_may_set(client);
  delete from pgsched_internal.secrets s where s.client_id = client and s.name = drop_secret.name;
  if not found then
    return false;
  end if;
  perform pgsched_internal.write_log('drop secret', null, drop_secret.actor, jsonb_build_object('client', client, 'secret', drop_secret.name),
    'secret', client || '/' || drop_secret.name, client => drop_secret.client);
  return true;
end $$;
comment on function pgsched.drop_secret(text, text, text)
  is 'Deletes a client''s secret; false if there was none. Attempts that still refer to the secret fail and are
retried.';

create or replace function pgsched.secrets(client text, out name text, out created_at timestamptz, out updated_at timestamptz, out hosts text[]) returns setof record
  language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select s.name, s.created_at, s.updated_at, s.hosts from pgsched_internal.secrets s
   where s.client_id = secrets.client and pgsched_internal.acts_for(s.client_id) order by s.name
$$;
comment on function pgsched.secrets(text)
  is 'The names of a client''s secrets, with the instants when each was created and last replaced, and the hosts that it
may be sent to. Empty if the session does not act for the client.';

create or replace function pgsched_internal.reseal(client text, name text, before bytea, after bytea) returns boolean
  language plpgsql volatile as $$
#variable_conflict use_column
begin
  update pgsched_internal.secrets s set sealed = reseal.after where s.client_id = client and s.name = reseal.name and s.sealed = reseal.before;
  if not found then  -- it may be a signing secret
    update pgsched_internal.signing_secrets s set sealed = reseal.after where s.client_id = client and s.sealed = reseal.before;
  end if;
  return found;
end $$;
comment on function pgsched_internal.reseal(text, text, bytea, bytea)
  is 'Replaces the sealed form of a secret with one that is sealed with a new key. False if the secret was replaced in
the meantime. Called when the sealing keys change.';

create or replace trigger secrets_changed after insert or update or delete on pgsched_internal.secrets
  for each statement execute function pgsched_internal.workers_told('clients');
create or replace trigger changed after insert or update or delete on pgsched_internal.secrets
  for each row execute function pgsched_internal.changed('secret', 'full_name');

-- The first nine bytes identify the key (pgsched/sealing.py) and reveal nothing about the content.
create or replace function pgsched_internal.sealed_with() returns table (head bytea, secrets bigint)
  language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select found.head, count(*)
    from ((select substr(s.sealed, 1, 9) as head from pgsched_internal.secrets s limit 100000)
          union all
          (select substr(s.sealed, 1, 9) from pgsched_internal.signing_secrets s limit 100000)) found
   group by found.head
$$;
comment on function pgsched_internal.sealed_with()
  is 'The identifying bytes of each key that secrets are sealed with, and the number of these secrets. Reads at most
about 100,000 secrets.';
