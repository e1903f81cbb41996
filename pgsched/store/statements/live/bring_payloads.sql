-- bring: reads the payloads of leased rows that the claim left out because of their size. Index: the primary key. Locks
-- nothing.
select e.id, e.payload from pgsched_internal.executions_{p} e
 where e.id = any (%(ids)s) and e.lease_token = any (%(tokens)s)
