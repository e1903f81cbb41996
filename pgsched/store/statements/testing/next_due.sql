-- testing: the first instant after the current time at which a waiting row is due. Locks nothing. Index:
-- executions_fire_at.
select min(e.fire_at) from pgsched.executions e
 where e.fire_at > pgsched.now() and e.fire_at < 'infinity' and e.lease_token is null
