-- release: hands back whatever a claim took whose answer never arrived. Reads the due rows of one partition; runs only
-- after a connection broke in the middle of a claim. Index: executions_fire_at.
update pgsched.executions e
   set lease_owner = null, lease_token = null, lease_expires_at = null, attempt = e.attempt - 1,
       plan = case e.plan when 0 then 0 end
 where e.partition = any (%(partitions)s) and e.fire_at <= pgsched.now() + interval '1 minute' and e.lease_token = any (%(tokens)s)
