-- queue: starts what waits in a paused one.
select pgsched.resume_queue(%(name)s, %(note)s::text, %(actor)s::text)
