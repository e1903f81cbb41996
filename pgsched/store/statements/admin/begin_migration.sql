-- migrate: creates the schemas and the version table, and takes the lock that lets only one migration run at a time. A
-- second migration waits here, even in an empty database, and then continues with what the first has created. Only
-- migrations may take this lock.
do $$ begin create schema if not exists pgsched;
exception when unique_violation or duplicate_schema then null; end $$;
do $$ begin create schema if not exists pgsched_internal;
exception when unique_violation or duplicate_schema then null; end $$;
do $$ begin
  create table if not exists pgsched.schema_version (
    version_num varchar(32) not null constraint schema_version_pkc primary key);
exception when unique_violation or duplicate_table then null; end $$;
lock table pgsched.schema_version in share row exclusive mode;
