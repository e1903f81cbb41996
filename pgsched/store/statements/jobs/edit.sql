-- edit: a job, and its waiting row with it.
select pgsched.edit(%(id)s, %(changes)s::jsonb, %(actor)s::text, %(force)s)
