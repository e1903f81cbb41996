-- testing: stops the database's clock at an instant, for all its sessions. Locks only the function's own row; plans
-- that have inlined the function are rebuilt.
create or replace function pgsched.now() returns timestamptz language sql stable parallel safe return {}::pg_catalog.timestamptz
