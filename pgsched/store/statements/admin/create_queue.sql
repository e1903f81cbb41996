-- queue: makes one, with its partitions. Locks the table of queues.
select pgsched.create_queue(%(name)s, %(changes)s::jsonb, %(actor)s::text)
