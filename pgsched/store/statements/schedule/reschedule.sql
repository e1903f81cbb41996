-- reschedule: an execution that waits, for another instant.
select pgsched.reschedule(%(id)s, %(fire_at)s, %(actor)s::text)
