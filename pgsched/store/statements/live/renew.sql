-- renew: extends leases of which a third has passed. Fenced by the token. Index: the primary key. The update is HOT,
-- because no lease column is indexed. Skips rows that another transaction has locked.
update pgsched_internal.executions_{p} e
   set lease_expires_at = pgsched.now() + %(lease)s
 where e.id = any (array(
         select r.id from pgsched_internal.executions_{p} r
          where r.id = any (%(ids)s) and r.lease_token = any (%(tokens)s)
            and r.lease_expires_at < pgsched.now() + %(lease)s * 0.7 for update skip locked))
