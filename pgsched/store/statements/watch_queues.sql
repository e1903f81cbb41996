-- The watch: takes the locks that tell writers of these queues that they need not notify, each unless it is taken.
select queue, pg_try_advisory_lock(1885631331, -1 - queue)
  from unnest(%(queues)s::int[]) as queue
