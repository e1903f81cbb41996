-- Polling: withdraws the announcement that this worker polls these queues.
select pgsched_internal.leave_watch(queue, %(worker)s) from unnest(%(queues)s::int[]) as queue
