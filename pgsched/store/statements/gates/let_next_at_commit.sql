-- ordering: lets the next of a key have its turn when the transaction that ends one commits, which may take as long as its
-- handler's own writes have it take: so the partition's order is not locked, and the workers look once more. Index:
-- executions_ordering.
select pgsched_internal.let_next(%(partition)s::smallint, %(client)s, %(key)s), pgsched_internal.notify_unless_silent('turns')
