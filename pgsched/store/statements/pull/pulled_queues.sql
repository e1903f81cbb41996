-- pull: the queues that consumers pull from, if this is the first running worker. One worker is enough to plan these
-- queues' jobs; two do no harm. Locks nothing.
select first_partition from pgsched.queues
 where pulled and not exists (select from pgsched.workers w
                               where w.id < %(worker)s and w.lost_since is null and w.expires_at > pgsched.now())
 order by first_partition
