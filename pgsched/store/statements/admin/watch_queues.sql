-- Polling: announces that this worker will briefly poll these queues, except queues that another worker polls.
select pgsched_internal.take_watch(queue, %(worker)s) from unnest(%(queues)s::int[]) as queue
