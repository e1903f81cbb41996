-- gates: locks these gates until the transaction ends, and returns those that another transaction has kept locked for
-- more than a moment. Index: the primary key.
select pgsched_internal.try_gates(%(names)s::text[])
