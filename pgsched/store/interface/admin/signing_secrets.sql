-- What a client's callbacks are signed with. A new secret does not end the one before at once: for a while callbacks have a
-- signature by each, so that receivers can change over one by one.

-- gen_random_uuid() is the server's own source of strong randomness, 122 bits each time.
create or replace function pgsched_internal.new_secret() returns text language sql volatile as $$
  select 'whsec_' || encode(sha256(string_agg(uuid_send(gen_random_uuid()), '')), 'base64') from generate_series(1, 4)
$$;
comment on function pgsched_internal.new_secret() is 'A new signing secret: whsec_ and the base64 of 32 random bytes.';

create or replace function pgsched_internal.check_secret(secret text) returns boolean
  language plpgsql immutable parallel safe as $$
begin
  return length(secret) <= 94 and secret ~ '^whsec_([A-Za-z0-9+/]{4}){8,}([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$'
    or pgsched_internal.refuse('PS000', 'it is no signing secret', 'write whsec_ and the base64 of 24 to 64 random bytes, or leave it out to have one made');
end $$;
comment on function pgsched_internal.check_secret(text)
  is 'True for whsec_ and the base64 of 24 to 64 bytes; raises PS000 with what to write otherwise.';

create or replace function pgsched.rotate_signing_secret(
  client text, secret text default null, keep_for interval default '24 hours', actor text default null
) returns text language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  instant constant timestamptz := pgsched.now();
  made constant text := coalesce(secret, pgsched_internal.new_secret());
  before text;
begin
  perform pgsched_internal.check_said(null, rotate_signing_secret.actor);
  perform pgsched_internal.check_may_set(client);
  perform pgsched_internal.check_secret(made);
  if keep_for is null or keep_for not between interval '0' and interval '366 days' then
    perform pgsched_internal.refuse('PS000', 'the former secrets may be kept for 0 to 366 days', 'write keep_for => ''24 hours'', or ''0'' to end them now');
  end if;
  insert into pgsched.clients (client_id) values (client) on conflict do nothing;
  select c.signing_secret into before from pgsched.clients c where c.client_id = client for update;
  if before = made then
    perform pgsched_internal.refuse('PS000', 'it is the signing secret already', 'give another one, or leave it out to have one made');
  end if;
  update pgsched_internal.former_secrets f set valid_until = least(f.valid_until, instant + keep_for) where f.client_id = client;
  delete from pgsched_internal.former_secrets f where f.client_id = client and (f.valid_until <= instant or f.secret = made);
  if (select count(*) from pgsched_internal.former_secrets f where f.client_id = client) >= 4 then
    perform pgsched_internal.refuse('PS011', format('client %L has four former secrets that are still valid', client),
      'wait until one of them ends, or give a shorter keep_for');
  end if;
  if before is not null and keep_for > interval '0' then
    insert into pgsched_internal.former_secrets (client_id, secret, valid_until) values (client, before, instant + keep_for);
  end if;
  update pgsched.clients c set signing_secret = made where c.client_id = client;
  perform pgsched_internal.log_setting('rotate signing secret', rotate_signing_secret.actor, jsonb_build_object('client', client, 'former_until', instant + keep_for));
  return made;
end $$;
comment on function pgsched.rotate_signing_secret(text, text, interval, text)
  is 'Signs a client''s callbacks with a new secret, one that is given or a random one, and returns it: it is not shown again. The
secrets before it are valid for keep_for more, and callbacks have a signature by each of them. PS000 for what is no secret.';

create or replace function pgsched.drop_signing_secret(client text, actor text default null) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pgsched_internal.check_said(null, drop_signing_secret.actor);
  perform pgsched_internal.check_may_set(client);
  delete from pgsched_internal.former_secrets f where f.client_id = client;
  update pgsched.clients c set signing_secret = null where c.client_id = client and c.signing_secret is not null;
  if not found then
    return false;
  end if;
  perform pgsched_internal.log_setting('drop signing secret', drop_signing_secret.actor, jsonb_build_object('client', client));
  return true;
end $$;
comment on function pgsched.drop_signing_secret(text, text)
  is 'Signs a client''s callbacks no more, neither by its secret nor by former ones; false if they were not signed.';

create or replace function pgsched.signing_secrets(client text, out hint text, out valid_until timestamptz) returns setof record
  language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select 'whsec_…' || right(s.secret, 4), s.valid_until
    from (select c.client_id, c.signing_secret::text as secret, null::timestamptz as valid_until from pgsched.clients c
          union all select f.client_id, f.secret, f.valid_until from pgsched_internal.former_secrets f) s
   where s.client_id = signing_secrets.client and s.secret is not null and pgsched_internal.acts_for(s.client_id)
     and (s.valid_until is null or s.valid_until > pgsched.now())
   order by s.valid_until desc nulls first
$$;
comment on function pgsched.signing_secrets(text)
  is 'The secrets that a client''s callbacks are signed with, the newest first, by their last four characters, and until when
the former ones are valid. Nothing where the session does not act for the client.';
