-- ordering: lets only one worker at a time decide whose turn it is in a partition. Locks one row for each partition;
-- only workers may lock these rows. Leaves out a partition if another transaction keeps its row locked for long.
select pgsched_internal.try_orderings(%(partitions)s::smallint[])
