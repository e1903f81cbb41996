-- ordering: whoever decides whose turn it is in a partition, or lets the next have its turn, does so alone.
select pg_advisory_xact_lock(1885631332, p) from unnest(%(partitions)s::integer[]) as p order by p
