-- ordering: lets the next of each key have its turn, of which one has ended. Locks the partition's order, so that nobody who
-- is held behind one that ends just now is overlooked; where another has it for long, the workers look once more. The call of the one
-- that has ended is over, also where that was cancelled. Index: executions_ordering.
with alone as materialized (
  select cardinality(pgsched_internal.try_orderings(array[{p}::smallint])) > 0 as is_so
), told as materialized (
  select case when not is_so then pgsched_internal.notify_workers('turns') end from alone
)
select pgsched_internal.let_next({p}::smallint, k.client_id, k.ordering_key, true)
  from told cross join (select distinct * from unnest(%(clients)s::text[], %(keys)s::text[]) as k(client_id, ordering_key)) k
