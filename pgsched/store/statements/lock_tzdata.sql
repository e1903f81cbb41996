-- One process rechecks at a time; the lock goes with the session.
select pg_try_advisory_lock(hashtext('pgsched tzdata'))
