-- The database's time.
select pgsched.now()
