-- release: hands back unstarted rows at once, as if they had not been claimed. Their successors are already planned, so
-- the next claim plans none. Backfill rows remain backfill rows. Fenced by the token. Index: the primary key.
update pgsched_internal.executions_{p} e
   set lease_owner = null, lease_token = null, lease_expires_at = null, attempt = e.attempt - 1,
       plan = -abs(e.plan)
 where e.id = any (%(ids)s) and e.lease_token = any (%(tokens)s)
