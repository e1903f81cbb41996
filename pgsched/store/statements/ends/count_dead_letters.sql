-- dead letters: how many open ones a filter names. Locks nothing.
select matched, complete from pgsched.count_dead_letters(%(filter)s::jsonb, make_interval(secs => %(within)s))
