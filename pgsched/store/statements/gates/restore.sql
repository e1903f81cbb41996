-- restore: calls a sidelined host again, a few times a second at first. Locks the gate's row.
select pgsched.restore(%(host)s, %(client)s::text, %(actor)s::text)
