-- The watch: notes that a worker looks at these queues by itself for the next moment, each unless another has the watch.
select pgsched_internal.take_watch(queue, %(worker)s) from unnest(%(queues)s::int[]) as queue
