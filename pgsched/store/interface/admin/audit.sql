-- Who did what. Each row also has whom the API has authenticated, and the session's login and process, by the columns' defaults.

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
