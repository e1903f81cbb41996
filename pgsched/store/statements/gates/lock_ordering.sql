-- ordering: of the workers, whoever decides whose turn it is in a partition, or lets the next have its turn, does so alone.
-- Locks a row for each, in their order, which nobody but workers may touch.
select pgsched_internal.lock_ordering(%(partitions)s::smallint[])
