-- claim: which of these claimed rows were put off only since somebody held a lock. Index: the primary key.
select e.id from pgsched_internal.executions_{p} e where e.id = any (%(ids)s) and e.gate = 'busy'
