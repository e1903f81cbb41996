-- doctor: for how many seconds, at least, transactions have been open that so many have followed, in their order; null where it is not known.
-- Reads the rollups of two hours. Index: rollups_client. Locks nothing.
select pgsched_internal.seconds_since(a.transactions)
  from unnest(%(transactions)s::integer[]) with ordinality a(transactions, n) order by a.n
