-- doctor: for how many seconds, at least, transactions have been open, computed from how many transactions have started
-- since then; in the order given. Null if unknown. Reads two hours of rollups. Index: rollups_client. Locks nothing.
select pgsched_internal.seconds_since(a.transactions)
  from unnest(%(transactions)s::integer[]) with ordinality a(transactions, n) order by a.n
