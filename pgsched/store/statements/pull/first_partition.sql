-- pull: the first partition of a queue. Locks nothing.
select first_partition from pgsched.queues where name = %(queue)s
