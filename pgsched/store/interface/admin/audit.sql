-- Who did what, and for whom a session may do it.

-- The verbs of the schema pgsched run with their owner's rights, and judge by the role that the session acts as. What a verb
-- finds by an id it takes only where the session acts for its client: somebody else's is told from one that does not exist by
-- nothing, and is never locked.
create or replace function pgsched_internal.acting_role() returns name language sql stable parallel safe as $$
  select coalesce(nullif(pg_catalog.current_setting('role'), 'none'), session_user)::name
$$;
comment on function pgsched_internal.acting_role() is 'The role that the session acts as: the one it has taken, or its login.';

create or replace function pgsched_internal.acts_for(client text) returns boolean language sql stable parallel safe as $$
  select pg_catalog.has_table_privilege(pgsched_internal.acting_role(), 'pgsched.executions', 'UPDATE')
      or exists (select from pgsched.clients c join pg_catalog.pg_roles r on r.rolname = c.database_role
                  where c.client_id = acts_for.client and pg_catalog.pg_has_role(pgsched_internal.acting_role(), r.oid, 'MEMBER'))
$$;
comment on function pgsched_internal.acts_for(text) is 'Whether the session acts as a role of this client, or as one that may do everything.';

create or replace function pgsched_internal.check_acts_for(client text) returns boolean language plpgsql stable parallel safe as $$
begin
  return pgsched_internal.acts_for(client)
    or pgsched_internal.refuse('PS012', format('%I does not act for client %L', pgsched_internal.acting_role(), client),
         'name a client whose database_role you have: client => ''payments''');
end $$;
comment on function pgsched_internal.check_acts_for(text) is 'True where the session acts for this client; raises PS012 otherwise.';

create or replace function pgsched_internal.write_log(action text, subject uuid, actor text, detail jsonb default null) returns void
  language plpgsql volatile as $$
begin
  insert into pgsched.audit_log (actor, action, subject, detail)
  values (coalesce(write_log.actor, pgsched_internal.acting_role()), write_log.action, write_log.subject, write_log.detail);
end $$;
comment on function pgsched_internal.write_log(text, uuid, text, jsonb)
  is 'Writes a row of the audit log; without an actor it names the role that the session acts as. Called by the functions that
change something, once they have judged who calls them.';

create or replace function pgsched_internal.detail_of(note text) returns jsonb language sql immutable parallel safe as $$
  select case when note is not null then jsonb_build_object('note', note) end
$$;
comment on function pgsched_internal.detail_of(text) is 'A note as the audit log keeps it; null where there is none.';
