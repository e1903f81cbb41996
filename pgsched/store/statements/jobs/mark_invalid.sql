-- plan: marks a job whose schedule is invalid, with the error's code, so that it is not tried again until it is edited.
-- Skips a job that another transaction has locked; the next worker that tries to plan the job marks it.
update pgsched.jobs set state = 'invalid', reason = %(reason)s, updated_at = pgsched.now()
 where id = any (array(select j.id from pgsched.jobs j
                        where j.id = %(job)s and j.revision = coalesce(%(revision)s::int, j.revision) for no key update skip locked))
