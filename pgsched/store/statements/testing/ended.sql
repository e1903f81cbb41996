-- testing: the current status of these executions. Locks nothing. Index: the primary keys.
select s.id::text, s.status::text from pgsched.status s where s.id = any (%(ids)s::uuid[])
