-- client, name: keeps what its caller has sealed.
select pgsched_internal.put_secret(%(client)s, %(name)s, %(sealed)s::bytea, %(hosts)s::text[], %(actor)s::text)
