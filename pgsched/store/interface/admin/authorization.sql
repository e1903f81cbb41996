-- Determines which clients a session acts for. The functions of the schema pgsched run with their owner's rights and
-- check the role that the session acts as. A function that is given an id uses or locks a row only if the session acts
-- for the row's client. So a row of another client cannot be told apart from a missing row.

-- The API acts for the clients of the API key that a request carries. Before each request, the API declares these
-- clients in the setting pgsched.api_clients ("all", or an array), and the key's subject and other rights in similar
-- settings. Any login may change these settings, but the settings take effect only if the login is a member of
-- pgsched_api and does not have all rights.

create or replace function pgsched_internal.acting_role() returns name language sql stable parallel safe as $$
  select coalesce(nullif(pg_catalog.current_setting('role'), 'none'), session_user)::name
$$;
comment on function pgsched_internal.acting_role()
  is 'The role that the session acts as: the role set by SET ROLE or, if none is set, the session''s login.';

create or replace function pgsched_internal.may_do_everything() returns boolean language sql stable parallel safe as $$
  select pg_catalog.has_table_privilege(pgsched_internal.acting_role(), 'pgsched.executions', 'UPDATE')
$$;
comment on function pgsched_internal.may_do_everything()
  is 'True if the session acts as a worker''s role or as the owner.';

create or replace function pgsched_internal.is_api() returns boolean language sql stable parallel safe as $$
  select coalesce(pg_catalog.pg_has_role(pgsched_internal.acting_role(), pg_catalog.to_regrole('pgsched_api'), 'MEMBER'), false)
         and not pgsched_internal.may_do_everything()
$$;
comment on function pgsched_internal.is_api()
  is 'True if the session acts as a role of the API that does not have all rights.';

create or replace function pgsched_internal.api_clients() returns text[] language plpgsql stable parallel safe as $$
declare
  said constant text := coalesce(current_setting('pgsched.api_clients', true), '');
begin
  return case when said not in ('', 'all') and pgsched_internal.is_api() then said::text[] else '{}' end;
end $$;
comment on function pgsched_internal.api_clients()
  is 'The clients that this session of the API acts for; empty if it acts for all clients, or is not a session of the
API.';

create or replace function pgsched_internal.api_acts_for_all() returns boolean language plpgsql stable parallel safe as $$
begin
  return coalesce(current_setting('pgsched.api_clients', true), '') = 'all' and pgsched_internal.is_api();
end $$;
comment on function pgsched_internal.api_acts_for_all()
  is 'True if this is a session of the API that acts for all clients.';

create or replace function pgsched_internal.api_administers() returns boolean language plpgsql stable parallel safe as $$
begin
  return coalesce(current_setting('pgsched.api_admin', true), '') = 'on' and pgsched_internal.api_acts_for_all();
end $$;
comment on function pgsched_internal.api_administers()
  is 'True if the API acts for an API key with the scope admin that is valid for all clients.';

create or replace function pgsched_internal.authenticated() returns text language plpgsql stable parallel safe as $$
begin
  return case when coalesce(current_setting('pgsched.api_subject', true), '') <> '' and pgsched_internal.is_api()
              then current_setting('pgsched.api_subject') end;
end $$;
comment on function pgsched_internal.authenticated()
  is 'The subject that the API has authenticated for this request; null if this is not a session of the API.';

-- The cheapest check comes first, because workers and the API evaluate this for each row that a function returns to
-- them.
create or replace function pgsched_internal.acts_for(client text) returns boolean language plpgsql stable parallel safe as $$
begin
  if pgsched_internal.may_do_everything() or pgsched_internal.api_acts_for_all() then
    return true;
  end if;
  return client = any (pgsched_internal.api_clients())
      or exists (select from pgsched.clients c join pg_catalog.pg_roles r on r.rolname = c.database_role
                  where c.client_id = acts_for.client and pg_catalog.pg_has_role(pgsched_internal.acting_role(), r.oid, 'MEMBER'));
end $$;
comment on function pgsched_internal.acts_for(text)
  is 'True if the session acts for this client: as the client''s own role, as the API on behalf of an API key, or with
all rights.';

create or replace function pgsched_internal.clients_acted_for() returns text[] language plpgsql stable parallel safe as $$
begin
  if pgsched_internal.may_do_everything() or pgsched_internal.api_acts_for_all() then
    return null;
  end if;
  return pgsched_internal.api_clients()
      || array(select c.client_id from pgsched.clients c join pg_catalog.pg_roles r on r.rolname = c.database_role
                where pg_catalog.pg_has_role(pgsched_internal.acting_role(), r.oid, 'MEMBER'));
end $$;
comment on function pgsched_internal.clients_acted_for()
  is 'The clients that the session acts for; null if it has all rights, or acts for all clients.';

create or replace function pgsched_internal.check_acts_for(client text) returns boolean language plpgsql stable parallel safe as $$
begin
  return pgsched_internal.acts_for(client)
    or pgsched_internal.refuse('PS012', format('%I does not act for client %L', pgsched_internal.acting_role(), client),
         'name a client whose database_role you have, such as client => ''payments''');
end $$;
comment on function pgsched_internal.check_acts_for(text)
  is 'True if the session acts for this client; raises PS012 otherwise.';

-- A role other than the API's can call functions for all clients only if they were explicitly granted to it.
create or replace function pgsched_internal.check_administers() returns boolean language plpgsql stable parallel safe as $$
begin
  return not pgsched_internal.is_api() or pgsched_internal.api_administers()
    or pgsched_internal.refuse('PS012', 'this request concerns all clients', 'use a key that is valid for all clients and has the scope admin');
end $$;
comment on function pgsched_internal.check_administers()
  is 'True if the session may administer; raises PS012 if the API acts for an API key that may not.';
