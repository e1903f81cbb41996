-- renew: renews a worker's registration, a few times in each lease. Returns no row if the worker was declared lost and
-- must register again.
update pgsched.workers set expires_at = pgsched.now() + %(term)s where id = %(worker)s and lost_since is null returning id
