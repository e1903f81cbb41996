-- API keys. The caller that creates a key also creates its secret, and gives the database only the secret's hash.

create or replace function pgsched_internal.check_key(subject text, clients text[], scopes text[], expires_at timestamptz) returns boolean
  language plpgsql stable as $$
begin
  if coalesce(length(subject), 0) not between 1 and 200 then
    return pgsched_internal.refuse('PS000', 'the subject of a key must be 1 to 200 characters', 'write who uses the key, such as shop');
  elsif cardinality(clients) not between 1 and 100 or exists (select from unnest(clients) c where coalesce(length(c), 0) not between 1 and 100) then
    return pgsched_internal.refuse('PS000', 'a key must have 1 to 100 clients with names of 1 to 100 characters', 'leave clients out to allow all of them');
  elsif coalesce(cardinality(scopes), 0) = 0 or not scopes <@ array['schedule', 'read', 'operate', 'admin'] then
    return pgsched_internal.refuse('PS000', 'unknown scope', 'the scopes are schedule, read, operate and admin; give at least one');
  elsif expires_at <= pgsched.now() or expires_at = 'infinity' then
    return pgsched_internal.refuse('PS000', 'expires_at must be in the future', 'write a later instant, or leave expires_at out');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_key(text, text[], text[], timestamptz)
  is 'True for valid properties of an API key; raises PS000 with a hint otherwise.';

create or replace function pgsched_internal.check_key_rate(rate integer, burst integer) returns boolean language plpgsql immutable as $$
begin
  if rate not between 1 and 1000000 or burst not between 1 and 1000000 then
    return pgsched_internal.refuse('PS000', 'rate and burst must be whole numbers from 1 to 1000000', 'write 100, or leave both out for no limit');
  elsif burst is not null and rate is null then
    return pgsched_internal.refuse('PS000', '"burst" needs "rate"', 'leave "burst" out, or give "rate" as well');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_key_rate(integer, integer)
  is 'True for a valid limit on the requests of an API key; raises PS000 with a hint otherwise.';

create or replace function pgsched_internal.create_key(
  id text, hash bytea, subject text, clients text[], scopes text[], expires_at timestamptz, actor text default null,
  rate integer default null, burst integer default null
) returns void language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  given constant text[] := array(select s from unnest(array['schedule', 'read', 'operate', 'admin']) s where s = any (scopes));
begin
  perform pgsched_internal.check_said(null, create_key.actor);
  perform pgsched_internal.check_administers();
  perform pgsched_internal.check_key(subject, clients, scopes, expires_at);
  perform pgsched_internal.check_key_rate(rate, burst);
  insert into pgsched_internal.api_keys (id, hash, subject, clients, scopes, expires_at, rate, burst)
  values (create_key.id, create_key.hash, create_key.subject, create_key.clients, given, create_key.expires_at, create_key.rate, create_key.burst);
  perform pgsched_internal.write_log('create key', null, actor, jsonb_strip_nulls(jsonb_build_object('key', id, 'subject', subject, 'clients', clients,
    'scopes', given, 'expires_at', expires_at, 'rate', rate, 'burst', burst)), 'key', id);
end $$;
comment on function pgsched_internal.create_key(text, bytea, text, text[], text[], timestamptz, text, integer, integer)
  is 'Creates an API key from the hash of its secret. Raises PS000 for invalid values, and PS012 if the session may not
do this.';

create or replace function pgsched_internal.lock_key_of_api(id text) returns pgsched_internal.api_keys language plpgsql volatile as $$
declare
  key pgsched_internal.api_keys;
begin
  perform pgsched_internal.check_administers();
  select * into key from pgsched_internal.api_keys k where k.id = lock_key_of_api.id for update;
  if not found then
    perform pgsched_internal.refuse('PS010', format('there is no key %L', left(lock_key_of_api.id, 100)), 'pgsched admin keys list shows the ids');
  end if;
  return key;
end $$;
comment on function pgsched_internal.lock_key_of_api(text)
  is 'Locks and returns an API key. Raises PS010 if the key is unknown, and PS012 if the session may not change keys.';

create or replace function pgsched_internal.rotate_key(id text, hash bytea, keep_for interval default '0', actor text default null) returns void
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  key constant pgsched_internal.api_keys := pgsched_internal.lock_key_of_api(id);
begin
  perform pgsched_internal.check_said(null, rotate_key.actor);
  if key.revoked_at is not null then
    perform pgsched_internal.refuse('PS011', format('the key %s was revoked', id), 'create another one');
  elsif keep_for is null or keep_for not between interval '0' and interval '366 days' then
    perform pgsched_internal.refuse('PS000', 'keep_for must be from 0 to 366 days', 'write 24h, or 0s to invalidate the former secret now');
  end if;
  update pgsched_internal.api_keys k
     set hash = rotate_key.hash, former_hash = key.hash, former_until = pgsched.now() + rotate_key.keep_for where k.id = key.id;
  perform pgsched_internal.write_log('rotate key', null, actor, jsonb_build_object('key', id, 'keep_for', keep_for), 'key', id);
end $$;
comment on function pgsched_internal.rotate_key(text, bytea, interval, text)
  is 'Gives an API key a new secret. The former secret stays valid for keep_for. Raises PS010 for an unknown key, PS011
for a revoked one, and PS012 if the session may not do this.';

create or replace function pgsched_internal.set_key_rate(id text, rate integer, burst integer default null, actor text default null) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  key constant pgsched_internal.api_keys := pgsched_internal.lock_key_of_api(id);
begin
  perform pgsched_internal.check_said(null, set_key_rate.actor);
  perform pgsched_internal.check_key_rate(rate, burst);
  if (key.rate, key.burst) is not distinct from (rate, burst) then
    return false;
  end if;
  update pgsched_internal.api_keys k set rate = set_key_rate.rate, burst = set_key_rate.burst where k.id = key.id;
  perform pgsched_internal.write_log('limit key', null, actor, jsonb_build_object('key', id), 'key', id);
  return true;
end $$;
comment on function pgsched_internal.set_key_rate(text, integer, integer, text)
  is 'Limits the requests of an API key. rate is the maximum number a second, and burst the number that may come at once
after a lull. Without a rate, removes the limit. False if nothing changed. Raises PS010 for an unknown key, and PS012 if
the session may not do this.';

create or replace function pgsched_internal.revoke_key(id text, actor text default null) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  key constant pgsched_internal.api_keys := pgsched_internal.lock_key_of_api(id);
begin
  perform pgsched_internal.check_said(null, revoke_key.actor);
  if key.revoked_at is not null then
    return false;
  end if;
  update pgsched_internal.api_keys k set revoked_at = pgsched.now() where k.id = key.id;
  perform pgsched_internal.write_log('revoke key', null, actor, jsonb_build_object('key', id), 'key', id);
  return true;
end $$;
comment on function pgsched_internal.revoke_key(text, text)
  is 'Revokes an API key: within a second, all API servers stop accepting it. False if it was already revoked. Raises
PS010 for an unknown key, and PS012 if the session may not do this.';

-- Checks no rights, because it is called before the caller is authenticated. A hash does not reveal the secret.
create or replace function pgsched_internal.look_up_keys(ids text[]) returns table (
  id text, hash bytea, former_hash bytea, former_left double precision, subject text, clients text[], scopes text[], expires_in double precision, revoked boolean,
  rate integer, burst integer
) language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select k.id, k.hash, k.former_hash, extract(epoch from k.former_until - pgsched.now()), k.subject, k.clients, k.scopes,
         extract(epoch from k.expires_at - pgsched.now()), k.revoked_at is not null, k.rate, k.burst
    from pgsched_internal.api_keys k where k.id = any (look_up_keys.ids)
$$;
comment on function pgsched_internal.look_up_keys(text[])
  is 'The API keys with these ids. Each has the hashes of its current and former secrets, and the number of seconds for
which each secret is still valid.';

create or replace function pgsched_internal.has_keys() returns boolean language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select exists (select from pgsched_internal.api_keys)
$$;
comment on function pgsched_internal.has_keys() is 'True if there is or was an API key.';

-- Skips a locked row: the transaction that has locked the row is also recording the use, or is changing the key.
create or replace function pgsched_internal.note_key_use(id text) returns void
  language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  update pgsched_internal.api_keys k set last_used_at = pgsched.now()
   where k.id in (select o.id from pgsched_internal.api_keys o where o.id = note_key_use.id and o.revoked_at is null
                     and coalesce(o.last_used_at < pgsched.now() - interval '1 minute', true) for no key update skip locked)
$$;
comment on function pgsched_internal.note_key_use(text)
  is 'Records that an API key was used, at most once a minute; waits for no lock.';
