-- client: starts what was held of one.
select pgsched.release_client(%(client)s, %(note)s::text, %(actor)s::text)
