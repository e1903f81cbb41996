-- client: sets what is named of one. pgsched.set_client says what it locks.
select pgsched.set_client(%(client)s, %(changes)s::jsonb, %(actor)s::text)
