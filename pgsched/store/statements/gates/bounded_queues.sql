-- levels: the queues with a maximum number of waiting executions, if this is the first running worker. One worker is
-- enough to count the executions; two do no harm.
select name, first_partition, max_waiting, full_since is not null as "full" from pgsched.queues
 where max_waiting is not null
   and not exists (select from pgsched.workers w
                    where w.id < %(worker)s and w.lost_since is null and w.expires_at > pgsched.now())
