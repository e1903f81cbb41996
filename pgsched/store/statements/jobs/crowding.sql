-- plan: the number of a partition's rows that wait in each of these time spans, counted up to a thousand. Locks
-- nothing. Index: executions_fire_at.
select pgsched_internal.crowding(%(partition)s, %(lows)s, %(highs)s)
