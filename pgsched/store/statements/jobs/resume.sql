-- resume: a paused or invalid job; a worker plans it.
select pgsched.resume(%(id)s, %(note)s::text, %(actor)s::text)
