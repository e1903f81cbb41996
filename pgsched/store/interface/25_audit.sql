-- Who did what, and for whom a session may do it.

-- Also within functions that run with their owner's rights.
create or replace function pgsched.acting_role() returns name language sql stable parallel safe as $$
  select coalesce(nullif(pg_catalog.current_setting('role'), 'none'), session_user)::name
$$;
comment on function pgsched.acting_role() is 'The role that the session acts as: the one it has taken, or its login.';

create or replace function pgsched.acts_for(client text) returns boolean language sql stable parallel safe as $$
  select pg_catalog.has_table_privilege(pgsched.acting_role(), 'pgsched.executions', 'UPDATE')
      or exists (select from pgsched.clients c join pg_catalog.pg_roles r on r.rolname = c.database_role
                  where c.client_id = acts_for.client and pg_catalog.pg_has_role(pgsched.acting_role(), r.oid, 'MEMBER'))
$$;
comment on function pgsched.acts_for(text) is 'Whether the session acts as a role of this client, or as one that may do everything.';

create or replace function pgsched.write_log(action text, subject uuid, actor text, detail jsonb) returns void
  language plpgsql volatile as $$
begin
  if length(write_log.actor) not between 1 and 200 then
    perform pgsched.refuse('PS000', 'actor must be text of 1 to 200 characters', 'write actor => ''ann'', or leave it out');
  end if;
  insert into pgsched.audit_log (actor, action, subject, detail)
  values (coalesce(write_log.actor, pgsched.acting_role()), write_log.action, write_log.subject, write_log.detail);
end $$;
comment on function pgsched.write_log(text, uuid, text, jsonb)
  is 'Writes a row of the audit log, for functions with their owner''s rights that have judged who calls them.';

-- With the owner's rights, since nobody else may write the log; so it judges by the role that the session acts as.
create or replace function pgsched.log_change(action text, subject uuid, actor text, detail jsonb default null) returns void
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  whose text;
begin
  if not has_table_privilege(pgsched.acting_role(), 'pgsched.audit_log', 'INSERT') then
    select j.client_id into whose from pgsched.jobs j where j.id = log_change.subject;
    if not found then
      select e.client_id into whose from pgsched.executions e where e.id = log_change.subject;
    end if;
    if whose is null or not pgsched.acts_for(whose) then
      perform pgsched.refuse('PS012', format('%I may not write what happened to %s', pgsched.acting_role(), log_change.subject),
        'act as a role of its client');
    end if;
  end if;
  perform pgsched.write_log(log_change.action, log_change.subject, log_change.actor, log_change.detail);
end $$;
comment on function pgsched.log_change(text, uuid, text, jsonb)
  is 'Writes a row of the audit log; without an actor it names the role that the session acts as. Called by the functions that
change something.';

create or replace function pgsched.detail_of(note text) returns jsonb language sql immutable parallel safe as $$
  select case when note is not null then jsonb_build_object('note', note) end
$$;
comment on function pgsched.detail_of(text) is 'A note as the audit log keeps it; null where there is none.';
