-- testing: has the database go by a clock that stands still at an instant, for every session of it. Takes no lock but on the
-- function's own row; plans that have it inlined are made anew.
create or replace function pgsched.now() returns timestamptz language sql stable parallel safe return {}::pg_catalog.timestamptz
