-- doctor: the minimum number of seconds for which each transaction has been open, estimated from the number of
-- transactions that have started since; null if unknown. Returns the rows in the order given. Reads two hours of
-- rollups. Index: rollups_client. Locks nothing.
select pgsched_internal.seconds_since(a.transactions)
  from unnest(%(transactions)s::integer[]) with ordinality a(transactions, n) order by a.n
