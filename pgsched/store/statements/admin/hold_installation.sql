-- installation: begins nothing in it until it is released.
select pgsched.hold_installation(%(note)s::text, %(actor)s::text)
