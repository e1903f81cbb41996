-- The first partitions of the queues a worker serves, and whether consumers pull from them.
select name, first_partition, pulled from pgsched.queues where name = any (%(queues)s) order by first_partition
