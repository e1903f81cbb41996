-- testing: what became of these executions so far. Locks nothing. Index: the primary keys.
select s.id::text, s.status::text from pgsched.status s where s.id = any (%(ids)s::uuid[])
