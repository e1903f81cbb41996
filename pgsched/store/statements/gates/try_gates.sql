-- gates: locks these gates until the transaction ends. Returns the gates that another transaction kept locked for more
-- than a moment. Index: the primary key.
select pgsched_internal.try_gates(%(names)s::text[])
