-- settle: which rows are still a worker's. With the clause free it leaves out those that somebody else has locked, and locks the
-- others, so that what settles them waits for nobody. Fenced by the token; index: the primary key.
select e.id from pgsched_internal.executions_{p} e
 where e.id = any (%(ids_{p})s) and e.lease_token = any (%(tokens)s){clauses}
-- then
{rows}
