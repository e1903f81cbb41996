-- renew: puts off the end of leases that are past a third of their life. Fenced by the token; index: the primary key;
-- HOT, for no lease column is indexed.
update pgsched_internal.executions_{p} e
   set lease_expires_at = pgsched.now() + %(lease)s
 where e.id = any (%(ids)s) and e.lease_token = any (%(tokens)s)
   and e.lease_expires_at < pgsched.now() + %(lease)s * 0.7
