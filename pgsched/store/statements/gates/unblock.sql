-- unblock: an ordering key, without the execution that failed.
select pgsched.unblock(%(client)s, %(ordering_key)s, %(actor)s::text)
