-- A login for each kind of process, none of them a superuser. The image of PostgreSQL runs this once, as its superuser, in
-- the new database, and room.sql after it; elsewhere run it with psql: psql "$SUPERUSER_URL" --file docker/logins.sql
\set ON_ERROR_STOP on
\getenv migrator_password MIGRATOR_PASSWORD
\getenv scheduler_password SCHEDULER_PASSWORD
\getenv front_password FRONT_PASSWORD
\getenv shop_password SHOP_PASSWORD

create role pgsched_owner nologin;
create role pgsched_worker nologin;
create role pgsched_api nologin;
create role pgsched_client nologin;
create role pgsched_reader nologin;

-- pgsched migrate. What it makes belongs to pgsched_owner, whoever migrates.
create role migrator login password :'migrator_password' in role pgsched_owner;
alter role migrator set role = 'pgsched_owner';
select format('grant create on database %I to pgsched_owner', current_database()) \gexec

-- pgsched worker, and the command line of whoever runs it.
create role scheduler login password :'scheduler_password' in role pgsched_worker;

-- pgsched api.
create role front login password :'front_password' in role pgsched_api;

-- A service that schedules by SQL, for those clients whose database_role it has.
create role shop login password :'shop_password' in role pgsched_client;
