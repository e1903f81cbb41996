-- client: has its callbacks signed with what its caller has sealed. Locks the client's row.
select pgsched_internal.rotate_signing_secret(%(client)s, %(sealed)s::bytea, %(hint)s::text, %(keep_for)s::interval, %(actor)s::text)
