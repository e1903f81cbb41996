-- reap: takes back what no worker has in hand and whose lease had run out by a moment: deferred executions that were not
-- completed, and what consumers lost. Skips what is being settled at this moment. Index: executions_fire_at; the primary key.
select pgsched_internal.reap_in_hand(p.partition, %(depth)s, to_timestamp(%(ended_by)s)) from unnest(%(partitions)s::smallint[]) as p(partition)
