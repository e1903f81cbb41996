-- migrate: whether the tables exist that say which interface the database has. Locks nothing.
select to_regclass('pgsched_internal.facts') is not null and to_regclass('pgsched.schema_version') is not null
