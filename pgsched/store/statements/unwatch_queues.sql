-- The watch: gives the locks of these queues up.
select pg_advisory_unlock(1885631331, -1 - queue) from unnest(%(queues)s::int[]) as queue
