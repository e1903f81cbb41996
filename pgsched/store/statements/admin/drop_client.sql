-- client: forgets what is set for one.
select pgsched.drop_client(%(client)s, %(actor)s::text)
