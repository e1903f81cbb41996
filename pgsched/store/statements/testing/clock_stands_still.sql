-- testing: whether the database uses a clock other than its own. Locks nothing.
select pgsched.now() <> pg_catalog.now()
