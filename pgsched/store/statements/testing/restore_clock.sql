-- testing: has the database go by its own clock again, as interface/core/checks.sql says.
create or replace function pgsched.now() returns timestamptz language sql stable parallel safe return pg_catalog.now()
