-- settle: which rows are still a worker's, also those that somebody has locked. Locks nothing. Index: the primary key.
select e.id from pgsched_internal.executions_{p} e where e.id = any (%(ids_{p})s) and e.lease_token = any (%(tokens)s)
-- then
{rows}
