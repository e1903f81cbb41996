-- backfill: raises an error where one of this range would be refused. Locks nothing.
select pgsched_internal.check_backfill(%(job)s, %(start)s, %(end)s, %(rate)s)
