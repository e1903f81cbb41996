-- renew: a worker says that it lives, a few times a lease. No row: it was declared lost, and must register anew.
update pgsched.workers set expires_at = pgsched.now() + %(term)s where id = %(worker)s and lost_since is null returning id
