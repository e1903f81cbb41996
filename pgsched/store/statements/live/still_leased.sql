-- renew: which rows are still leased under these tokens. Locks nothing. Index: the primary key of each partition.
select e.id from pgsched.executions e where e.id = any (%(ids)s) and e.lease_token = any (%(tokens)s)
