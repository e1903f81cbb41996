-- status: the running workers. Locks nothing.
select w.id, w.name, w.queues, w.concurrency, w.release, w.started_at from pgsched.workers w
 where pgsched_internal.is_living(w) order by w.id
