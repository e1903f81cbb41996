-- testing: makes the database use its own clock again, as interface/core/defaults_and_checks.sql defines it.
create or replace function pgsched.now() returns timestamptz language sql stable parallel safe return pg_catalog.now()
