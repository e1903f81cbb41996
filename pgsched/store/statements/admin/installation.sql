-- installation: the settings of the installation, and whether it is held for recovery. Locks nothing.
select i.history_days, i.audit_days, i.archive_history, i.hold_after_restart, i.hold_after_promotion, i.hold_after_absence, i.held_since, i.reason
  from pgsched.installation i
