-- migrate: creates the schemas, in the script that is printed.
create schema if not exists pgsched;
create schema if not exists pgsched_internal;
