-- days: the next step to make the default partition the table of the days that it has rows of. Tries for its locks (the parent, then the default
-- partition) and waits for none. Reads the default partition.
select pgsched_internal.adopt_strays(%(parent)s)
