-- settle: finds the rows that a worker still holds. With the clause `free`, locks the rows and leaves out rows that
-- another transaction has locked, so that settling never waits. Fenced by the token. Index: the primary key.
select e.id from pgsched_internal.executions_{p} e
 where e.id = any (%(ids_{p})s) and e.lease_token = any (%(tokens)s){clauses}
-- then
{rows}
