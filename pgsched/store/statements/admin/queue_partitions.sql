-- The queues a worker serves: their names and first partitions, and whether they are paused, as all are while the installation is held, or pulled
-- from by consumers.
select name, first_partition, paused_at is not null or exists (select from pgsched.installation i where i.held_since is not null), pulled
  from pgsched.queues where name = any (%(queues)s) order by first_partition
