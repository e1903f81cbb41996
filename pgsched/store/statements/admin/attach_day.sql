-- days: makes the table of a day a partition. Tries for its locks (the parent, then the default partition) and waits for none.
select pgsched_internal.attach_day(%(parent)s, %(day)s::date)
