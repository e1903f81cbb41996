-- Workers that left in the last 7 days, most recent first, or only one such worker. At most a thousand are kept. Locks
-- nothing.
select f.id, f.name, f.queues, f.release, f.started_at, f.lost_since, f.left_at
  from pgsched_internal.former_workers f
 where f.left_at > pgsched.now() - interval '7 days' and (%(worker)s::integer is null or f.id = %(worker)s)
 order by f.left_at desc, f.id desc limit %(limit)s
