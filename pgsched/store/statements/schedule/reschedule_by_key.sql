-- reschedule_by_key: the execution that a client has under a key, for another instant.
select pgsched.reschedule(client => %(client)s, key => %(key)s, fire_at => %(fire_at)s, actor => %(actor)s::text)
