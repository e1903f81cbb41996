-- client: signs its callbacks no more.
select pgsched.drop_signing_secret(%(client)s, %(actor)s::text)
