-- ordering: of the workers, whoever decides whose turn it is in a partition, or lets the next have its turn, does so alone.
-- Locks a row for each, which nobody but workers may touch, and leaves out those that another has locked for long.
select pgsched_internal.try_orderings(%(partitions)s::smallint[])
