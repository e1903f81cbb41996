-- installation: ends the hold.
select pgsched.release_installation(%(note)s::text, %(actor)s::text)
