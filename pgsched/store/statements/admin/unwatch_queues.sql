-- The watch: gives up what this worker has of these queues.
select pgsched_internal.leave_watch(queue, %(worker)s) from unnest(%(queues)s::int[]) as queue
