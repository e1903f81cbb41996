-- installation: sets what is named of it.
select pgsched.set_installation(%(changes)s::jsonb, %(actor)s::text)
