-- The queues a worker serves: their names and first partitions, and whether they are paused, or pulled from by consumers.
select name, first_partition, paused_at is not null, pulled
  from pgsched.queues where name = any (%(queues)s) order by first_partition
