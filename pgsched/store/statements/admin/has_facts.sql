-- migrate: checks whether the tables that record the database's interface exist. Locks nothing.
select to_regclass('pgsched_internal.facts') is not null and to_regclass('pgsched.schema_version') is not null
