-- A lost worker is forgotten once nothing is leased to it any more. Bars its late renewals first by locking its row.
delete from pgsched.workers w
 where w.id = any (%(workers)s)
   and not exists (select from pgsched.executions e
                    where e.fire_at <= pgsched.now() + interval '1 minute' and e.lease_owner = w.id)
