-- up: checks whether this login is a superuser.
select rolsuper from pg_catalog.pg_roles where rolname = session_user
