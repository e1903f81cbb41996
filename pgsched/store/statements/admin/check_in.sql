-- recovery: notes that workers are on this server, and answers why the installation is held, or null.
select pgsched_internal.check_in()
