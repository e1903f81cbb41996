-- queue: drops an empty one, with its partitions.
select pgsched.drop_queue(%(name)s, %(actor)s::text)
