-- release: hands rows back unstarted, at once, as if they had not been claimed. Their successors stand already, so
-- nothing is planned by the next claim; a backfill's row stays one. Fenced by the token; index: the primary key.
update pgsched_internal.executions_{p} e
   set lease_owner = null, lease_token = null, lease_expires_at = null, attempt = e.attempt - 1,
       plan = -abs(e.plan)
 where e.id = any (%(ids)s) and e.lease_token = any (%(tokens)s)
