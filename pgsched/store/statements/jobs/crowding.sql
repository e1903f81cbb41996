-- plan: how many rows wait in each of these time spans in a partition, counted up to a thousand. Locks nothing. Index:
-- executions_fire_at.
select pgsched_internal.crowding(%(partition)s, %(lows)s, %(highs)s)
