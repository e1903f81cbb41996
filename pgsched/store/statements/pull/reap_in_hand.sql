-- reap: takes back rows that no worker owns and whose leases had expired by a given moment: deferred executions that
-- were not completed, and executions that consumers lost. Skips rows that are being settled. Index: executions_fire_at;
-- the primary key.
select pgsched_internal.reap_in_hand(p.partition, %(depth)s, to_timestamp(%(ended_by)s)) from unnest(%(partitions)s::smallint[]) as p(partition)
