create or replace function pgsched.set_installation(changes jsonb, actor text default null) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  before pgsched.installation;
  after pgsched.installation;
begin
  perform pgsched_internal.check_said(null, set_installation.actor);
  perform pgsched_internal.check_administers();
  perform pgsched_internal.check_members(changes,
    array['history_days', 'audit_days', 'archive_history', 'hold_after_restart', 'hold_after_promotion', 'hold_after_absence']);
  select i.* into before from pgsched.installation i for update;
  after := jsonb_populate_record(before,
    pgsched_internal.with_defaults(changes, '{"history_days": 30, "audit_days": 400, "archive_history": false}'));
  if after is not distinct from before then
    return false;
  end if;
  update pgsched.installation i
     set history_days = after.history_days, audit_days = after.audit_days, archive_history = after.archive_history, hold_after_restart = after.hold_after_restart,
         hold_after_promotion = after.hold_after_promotion, hold_after_absence = after.hold_after_absence;
  perform pgsched_internal.write_log('set installation', null, set_installation.actor, jsonb_strip_nulls(changes), 'installation', 'installation');
  return true;
end $$;
comment on function pgsched.set_installation(jsonb, text)
  is 'Changes the given settings of the installation: history_days, audit_days (0 means forever), archive_history,
hold_after_restart, hold_after_promotion and hold_after_absence. For the last three, null means never; for the other
settings, null restores the default. True if anything changed. Raises PS000 for invalid values.';
