-- Secrets that a client's callbacks are signed with. The API or the command line seals them before they are stored, and
-- only workers open them. A new secret does not replace the old one at once: for a while, callbacks carry a signature
-- for each secret, so that receivers can switch one by one.

create or replace function pgsched_internal.rotate_signing_secret(
  client text, sealed bytea, hint text, keep_for interval default '24 hours', actor text default null
) returns boolean language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  instant constant timestamptz := pgsched.now();
begin
  perform pgsched_internal.check_said(null, rotate_signing_secret.actor);
  perform pgsched_internal.check_may_set(client);
  if keep_for is null or keep_for not between interval '0' and interval '366 days' then
    perform pgsched_internal.refuse('PS000', 'keep_for must be from 0 to 366 days', 'write keep_for => ''24 hours'', or ''0'' to invalidate the former secrets now');
  end if;
  insert into pgsched.clients (client_id) values (client) on conflict do nothing;
  perform from pgsched.clients c where c.client_id = client for no key update;
  update pgsched_internal.signing_secrets s set valid_until = least(s.valid_until, instant + keep_for) where s.client_id = client;
  delete from pgsched_internal.signing_secrets s where s.client_id = client and s.valid_until <= instant;
  if (select count(*) from pgsched_internal.signing_secrets s where s.client_id = client) >= 5 then
    perform pgsched_internal.refuse('PS011', format('client %L has five signing secrets that are still valid', client),
      'wait until one of them expires, or give a shorter keep_for');
  end if;
  insert into pgsched_internal.signing_secrets (client_id, sealed, hint) values (client, rotate_signing_secret.sealed, rotate_signing_secret.hint);
  perform pgsched_internal.write_log('rotate signing secret', null, rotate_signing_secret.actor,
    jsonb_build_object('client', client, 'former_until', instant + keep_for), 'client', client, client => rotate_signing_secret.client);
  return true;
end $$;
comment on function pgsched_internal.rotate_signing_secret(text, bytea, text, interval, text)
  is 'Gives a client a new signing secret, which the caller has sealed; hint is the end of the secret, by which people
recognise it. Earlier secrets stay valid for keep_for; during this time, callbacks also carry a signature for each of them.
Raises PS011 if five secrets are already valid.';

create or replace function pgsched.drop_signing_secret(client text, actor text default null) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  perform pgsched_internal.check_said(null, drop_signing_secret.actor);
  perform pgsched_internal.check_may_set(client);
  delete from pgsched_internal.signing_secrets s where s.client_id = client;
  if not found then
    return false;
  end if;
  perform pgsched_internal.write_log('drop signing secret', null, drop_signing_secret.actor, jsonb_build_object('client', client), 'client', client,
    client => drop_signing_secret.client);
  return true;
end $$;
comment on function pgsched.drop_signing_secret(text, text)
  is 'Deletes a client''s current and former signing secrets, so that its callbacks are no longer signed. False if there
were none.';

create or replace function pgsched.signing_secrets(client text, out hint text, out valid_until timestamptz) returns setof record
  language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select 'whsec_…' || s.hint, s.valid_until from pgsched_internal.signing_secrets s
   where s.client_id = signing_secrets.client and pgsched_internal.acts_for(s.client_id)
     and (s.valid_until is null or s.valid_until > pgsched.now())
   order by s.valid_until desc nulls first
$$;
comment on function pgsched.signing_secrets(text)
  is 'A client''s valid signing secrets, newest first: the last four characters of each and, for former secrets, the
instant until which they are valid. Empty if the session does not act for the client.';

create or replace trigger signing_secrets_changed after insert or update or delete on pgsched_internal.signing_secrets
  for each statement execute function pgsched_internal.workers_told('clients');
create or replace trigger changed after insert or update or delete on pgsched_internal.signing_secrets
  for each row execute function pgsched_internal.changed('client', 'client_id');
