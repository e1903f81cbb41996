-- ordering: gives the turn to the next execution of a key when the transaction that ends the previous one commits. The
-- handler's own writes may delay the commit, so the partition's ordering is not locked; instead, the workers check
-- again. Index: executions_ordering.
select pgsched_internal.let_next(%(partition)s::smallint, %(client)s, %(key)s), pgsched_internal.notify_unless_silent('turns')
