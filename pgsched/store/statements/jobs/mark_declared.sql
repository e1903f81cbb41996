-- mark_declared: says where a job is declared. pgsched.mark_declared says what it locks.
select pgsched.mark_declared(%(id)s, %(declared_by)s::text, %(actor)s::text)
