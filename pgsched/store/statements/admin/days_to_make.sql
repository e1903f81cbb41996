-- days: those of history and attempts that have no partition yet. Locks nothing.
select d.parent, d.day from pgsched_internal.days_to_make(%(ahead)s) d
