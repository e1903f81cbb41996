-- gates: which of them another transaction has locked for more than a moment; the others are locked until the transaction
-- ends. Index: the primary key.
select pgsched_internal.try_gates(%(names)s::text[])
