-- The queues that a worker serves: their names and first partitions, whether they are paused (all are while the
-- installation is held), and whether consumers pull from them.
select name, first_partition, paused_at is not null or exists (select from pgsched.installation i where i.held_since is not null), pulled
  from pgsched.queues where name = any (%(queues)s) order by first_partition
