-- testing: whether the database's clock has been replaced. Locks nothing.
select pgsched.now() <> pg_catalog.now()
