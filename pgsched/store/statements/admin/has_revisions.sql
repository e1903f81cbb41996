-- migrate: checks whether the database has our version table. Locks nothing.
select to_regclass('pgsched.schema_version') is not null
