-- queue: starts nothing in one until it is resumed.
select pgsched.pause_queue(%(name)s, %(note)s::text, %(actor)s::text)
