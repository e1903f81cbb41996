-- trigger: a job's execution, now, beside those that are planned.
select pgsched.trigger(%(id)s, %(actor)s::text)
