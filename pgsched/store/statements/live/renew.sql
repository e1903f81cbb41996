-- renew: prolongs leases that are past a third of their life. Fenced by the token; index: the primary key;
-- HOT, for no lease column is indexed.
-- Passes over what somebody else has locked.
update pgsched_internal.executions_{p} e
   set lease_expires_at = pgsched.now() + %(lease)s
 where e.id = any (array(
         select r.id from pgsched_internal.executions_{p} r
          where r.id = any (%(ids)s) and r.lease_token = any (%(tokens)s)
            and r.lease_expires_at < pgsched.now() + %(lease)s * 0.7 for update skip locked))
