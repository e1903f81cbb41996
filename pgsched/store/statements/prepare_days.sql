-- partitions: makes the days ahead, drops the days past, of history and attempts. One worker at a time; the others
-- have nothing to do then.
select case when pg_try_advisory_xact_lock(hashtext('pgsched days'))
       then pgsched.prepare_days(%(ahead)s) + pgsched.drop_days(%(kept)s) end
