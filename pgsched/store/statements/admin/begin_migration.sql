-- migrate: the schemas and the version table, and the lock by which one migration runs at a time: a second one waits here,
-- and then finds nothing to do. Nobody else may lock this table so. Of two that begin in an empty database, the later waits
-- for the earlier, and goes on with what that has made.
do $$ begin create schema if not exists pgsched;
exception when unique_violation or duplicate_schema then null; end $$;
do $$ begin create schema if not exists pgsched_internal;
exception when unique_violation or duplicate_schema then null; end $$;
do $$ begin
  create table if not exists pgsched.schema_version (
    version_num varchar(32) not null constraint schema_version_pkc primary key);
exception when unique_violation or duplicate_table then null; end $$;
lock table pgsched.schema_version in share row exclusive mode;
