-- Ends a stuck worker's sessions that are idle in a transaction. This releases their locks, such as the locks of a
-- claim that cannot commit. Finds the sessions by name and login, as watch_workers does.
select count(pg_catalog.pg_terminate_backend(a.pid)) from pg_catalog.pg_stat_activity a
 where a.usename = session_user and a.state = 'idle in transaction' and a.pid <> pg_catalog.pg_backend_pid()
   and a.application_name like 'pgsched %%' and a.application_name like '%% ' || %(instance)s
