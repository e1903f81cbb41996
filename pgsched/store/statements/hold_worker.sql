-- The session of a worker (again) holds its lock and says so. No row: the worker was declared lost in the meantime.
update pgsched.workers set gone_since = null, expires_at = pgsched.now() + %(lease)s
 where id = %(worker)s and pg_try_advisory_lock(1885631331, %(worker)s)
returning id
