-- Creates a login for each kind of process. None is a superuser. The PostgreSQL image runs this file once in the new
-- database, as its superuser, and then runs public_revokes.sql. On any other server, run this file yourself:
-- psql "$SUPERUSER_URL" --file docker/logins.sql
-- Roles belong to the whole server. For another database on the same server, run this file there too, with the same
-- passwords.
\set ON_ERROR_STOP on
\getenv migrator_password MIGRATOR_PASSWORD
\getenv scheduler_password SCHEDULER_PASSWORD
\getenv front_password FRONT_PASSWORD
\getenv shop_password SHOP_PASSWORD

select format('create role %I nologin', name)
  from unnest(array['pgsched_owner', 'pgsched_worker', 'pgsched_api', 'pgsched_client', 'pgsched_reader']) as name
 where not exists (select from pg_catalog.pg_roles where rolname = name) \gexec
select format('create role %I', name)
  from unnest(array['migrator', 'scheduler', 'front', 'shop']) as name
 where not exists (select from pg_catalog.pg_roles where rolname = name) \gexec

-- For pgsched migrate. Whichever login migrates, the objects that it creates belong to pgsched_owner.
alter role migrator login password :'migrator_password';
grant pgsched_owner to migrator;
alter role migrator set role = 'pgsched_owner';
select format('grant create on database %I to pgsched_owner', current_database()) \gexec

-- For pgsched worker, and for the commands of operators.
alter role scheduler login password :'scheduler_password';
grant pgsched_worker to scheduler;

-- For pgsched api.
alter role front login password :'front_password';
grant pgsched_api to front;

-- For a service that schedules in SQL, for the clients with this database_role.
alter role shop login password :'shop_password';
grant pgsched_client to shop;
