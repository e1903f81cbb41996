-- An execution under which its worker is about to be lost, since it keeps the event loop for longer than it has time: once it is taken back it
-- runs alone. Fenced by the token; index: the primary key.
update pgsched_internal.executions_{p} e set losses = greatest(coalesce(e.losses, 0), 1)
 where e.id = any (%(ids)s) and e.lease_token = any (%(tokens)s)
