-- pause: a job, and its waiting row with it.
select pgsched.pause(%(id)s, %(note)s::text, %(actor)s::text)
