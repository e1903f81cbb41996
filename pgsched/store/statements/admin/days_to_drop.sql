-- days: the tables of those that are older than so many days. Locks nothing.
select d.name from pgsched_internal.days_to_drop(%(kept)s) as d(name)
