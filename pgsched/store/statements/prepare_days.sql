-- partitions: makes the days ahead, drops the days past, of history and attempts. One worker at a time; the others
-- have nothing to do then.
select case when pg_try_advisory_xact_lock(hashtext('pgsched days'))
       then pgsched_internal.prepare_days(%(ahead)s) + pgsched_internal.drop_days(%(kept)s) end
