-- ordering: gives the turn to the next execution of a key when the transaction that ends the previous one commits. That
-- may take as long as the handler's own writes, so the partition's ordering is not locked, and the workers check again.
-- Index: executions_ordering.
select pgsched_internal.let_next(%(partition)s::smallint, %(client)s, %(key)s), pgsched_internal.notify_unless_silent('turns')
