-- days: makes the table of a day, which locks nobody out. One worker at a time.
select pgsched_internal.make_day(%(parent)s, %(day)s::date)
