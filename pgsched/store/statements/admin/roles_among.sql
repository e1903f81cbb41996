-- migrate: finds which of these roles exist. Index: pg_authid_rolname_index.
select rolname from pg_catalog.pg_roles where rolname = any (%(names)s)
