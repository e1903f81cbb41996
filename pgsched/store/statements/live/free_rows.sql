-- settle: locks those of a worker's rows that nobody else has locked, so that what settles them waits for nobody.
-- Fenced by the token; index: the primary key.
select e.id from pgsched_internal.executions_{p} e
 where e.id = any (%(ids_{p})s) and e.lease_token = any (%(tokens)s) for update skip locked
-- then
{rows}
