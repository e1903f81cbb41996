-- plan: a job whose schedule makes no sense says so, with the code of the error, and is not tried again until it is edited.
update pgsched.jobs set state = 'invalid', reason = %(reason)s, updated_at = pgsched.now()
 where id = %(job)s and revision = coalesce(%(revision)s::int, revision)
