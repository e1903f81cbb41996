-- testing: stops the database's clock at an instant, for all sessions. Locks only the row of the clock function; plans
-- that have inlined the function are rebuilt.
create or replace function pgsched.now() returns timestamptz language sql stable parallel safe return {}::pg_catalog.timestamptz
