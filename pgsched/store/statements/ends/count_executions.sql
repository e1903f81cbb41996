-- bulk changes: how many executions that wait or run a filter names. Locks nothing.
select matched, complete from pgsched.count_executions(%(filter)s::jsonb, make_interval(secs => %(within)s))
