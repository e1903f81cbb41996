-- recovery: moves what waits in a partition and was due, no more than so many. Locks their rows. Index: executions_fire_at.
select pgsched_internal.spread_overdue(%(partition)s::smallint, %(due_by)s, %(begins)s, %(apart)s, %(most)s)
