-- days: drops the table of a day. Tries for its locks (the parent, the default partition, the day) and waits for none.
select pgsched_internal.drop_day(%(name)s)
