-- Polling: announces that this worker polls these queues for the next moment, except queues that another worker polls.
select pgsched_internal.take_watch(queue, %(worker)s) from unnest(%(queues)s::int[]) as queue
