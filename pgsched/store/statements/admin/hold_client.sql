-- client: starts nothing of one until it is released.
select pgsched.hold_client(%(client)s, %(note)s::text, %(actor)s::text)
