-- The queues a worker serves: their names and first partitions, and whether they are paused.
select name, first_partition, paused_at is not null from pgsched.queues where name = any (%(queues)s) order by first_partition
