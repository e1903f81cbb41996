-- queue: sets what is named of one.
select pgsched.set_queue(%(name)s, %(changes)s::jsonb, %(actor)s::text)
