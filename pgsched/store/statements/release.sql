-- release: hands rows back unstarted, at once, as if they had not been claimed. Their successors stand already, so
-- nothing is planned by the next claim. Fenced by the token; index: the primary key.
update pgsched.executions_{p} e
   set lease_owner = null, lease_token = null, lease_expires_at = null, attempt = e.attempt - 1, plan = null
 where e.id = any (%(ids)s) and e.lease_token = any (%(tokens)s)
