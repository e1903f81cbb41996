-- pull: the seconds until the next execution of a queue is due. Locks nothing.
select pgsched_internal.until_next(%(queue)s)
