-- client: signs its callbacks no more.
select pgsched.drop_secret(%(client)s, %(actor)s::text)
