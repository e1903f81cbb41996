-- roll up: adds what a worker has counted to the rows of its minutes, in one order. Locks those rows, which nobody but workers can lock,
-- until it is done. Index: the primary key of the day.
select pgsched_internal.roll_up(%(counted)s::jsonb)
