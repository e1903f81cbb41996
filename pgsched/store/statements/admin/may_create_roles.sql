-- migrate: checks whether this role may create roles.
select rolcreaterole or rolsuper from pg_catalog.pg_roles where rolname = current_user
