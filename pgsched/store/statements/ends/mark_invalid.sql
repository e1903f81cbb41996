-- plan: a job whose schedule makes no sense says so, with the code of the error, and is not tried again until it is edited.
-- One that somebody else has locked is left alone: whoever meets it next says so.
update pgsched.jobs set state = 'invalid', reason = %(reason)s, updated_at = pgsched.now()
 where id = any (array(select j.id from pgsched.jobs j
                        where j.id = %(job)s and j.revision = coalesce(%(revision)s::int, j.revision) for no key update skip locked))
