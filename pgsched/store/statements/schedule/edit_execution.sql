-- edit: a one-shot that waits and has not begun. pgsched.edit_execution says what it locks.
select pgsched.edit_execution(%(id)s, %(changes)s::jsonb, %(note)s::text, %(actor)s::text)
