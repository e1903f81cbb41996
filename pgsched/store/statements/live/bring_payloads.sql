-- bring: the payloads of leased rows that their claim kept back for their size. Reads by the primary key; locks nothing.
select e.id, e.payload from pgsched_internal.executions_{p} e
 where e.id = any (%(ids)s) and e.lease_token = any (%(tokens)s)
