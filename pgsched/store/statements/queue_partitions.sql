-- The first partitions of the queues a worker serves.
select name, first_partition from pgsched.queues where name = any (%(queues)s) order by first_partition
