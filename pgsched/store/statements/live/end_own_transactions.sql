-- A worker whose event loop stands still ends those sessions of its own that stand in the middle of a transaction: what they have
-- locked, such as rows of a claim that cannot be committed, is free for others. By name and login, as watch_workers knows them.
select count(pg_catalog.pg_terminate_backend(a.pid)) from pg_catalog.pg_stat_activity a
 where a.usename = session_user and a.state = 'idle in transaction' and a.pid <> pg_catalog.pg_backend_pid()
   and a.application_name like 'pgsched %%' and a.application_name like '%% ' || %(instance)s
