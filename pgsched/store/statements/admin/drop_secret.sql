-- client, name: forgets a secret.
select pgsched.drop_secret(%(client)s, %(name)s, %(actor)s::text)
