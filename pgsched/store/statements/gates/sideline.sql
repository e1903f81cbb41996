-- sideline: calls nothing at a host until an instant, or until it is restored. Locks the gate's row.
select pgsched.sideline(%(host)s, %(client)s::text, coalesce(%(until)s::timestamptz, 'infinity'),
                        %(note)s::text, %(actor)s::text)
