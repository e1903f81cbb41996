-- Tells all workers a word.
select pgsched_internal.notify_workers(%(word)s)
