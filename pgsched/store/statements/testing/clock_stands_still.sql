-- testing: whether the database goes by another clock than its own. Locks nothing.
select pgsched.now() <> pg_catalog.now()
