-- A login for each kind of process, none of them a superuser. The image of PostgreSQL runs this once, as its superuser, in
-- the new database, and public_revokes.sql after it; elsewhere run it with psql: psql "$SUPERUSER_URL" --file docker/logins.sql
-- Roles belong to the whole server: for a further database of it, run this there too, with the same passwords.
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

-- pgsched migrate. What it makes belongs to pgsched_owner, whoever migrates.
alter role migrator login password :'migrator_password';
grant pgsched_owner to migrator;
alter role migrator set role = 'pgsched_owner';
select format('grant create on database %I to pgsched_owner', current_database()) \gexec

-- pgsched worker, and the command line of whoever runs it.
alter role scheduler login password :'scheduler_password';
grant pgsched_worker to scheduler;

-- pgsched api.
alter role front login password :'front_password';
grant pgsched_api to front;

-- A service that schedules by SQL, for those clients whose database_role it has.
alter role shop login password :'shop_password';
grant pgsched_client to shop;
