-- client: signs its callbacks by another secret. Locks the client's row.
select pgsched.rotate_signing_secret(%(client)s, %(secret)s::text, %(keep_for)s::interval, %(actor)s::text)
