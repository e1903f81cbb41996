-- archive: the days of history and attempts that are kept no longer and have not been archived. Locks nothing; reads what is in no day's table.
select d from pgsched_internal.days_to_archive() d
