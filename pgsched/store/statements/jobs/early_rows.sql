-- claim: which of these claimed rows must not start yet. Locks nothing. Index: the primary key.
select e.id from pgsched_internal.executions_{p} e
 where e.id = any (%(ids)s) and coalesce(e.start_at, e.scheduled_for, e.fire_at) > pgsched.now()
