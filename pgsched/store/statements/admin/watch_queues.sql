-- Polling: announces that a worker polls these queues for the next moment, each unless another one does.
select pgsched_internal.take_watch(queue, %(worker)s) from unnest(%(queues)s::int[]) as queue
