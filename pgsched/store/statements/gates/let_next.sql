-- ordering: gives the turn to the next execution of each key after the previous one has ended. Locks the partition's
-- ordering, so that an execution that is being held while its predecessor ends is not missed. If another transaction
-- keeps the ordering locked for long, notifies the workers to check again. The call of the ended execution is over,
-- even if the execution was cancelled. Index: executions_ordering.
with alone as materialized (
  select cardinality(pgsched_internal.try_orderings(array[{p}::smallint])) > 0 as is_so
), told as materialized (
  select case when not is_so then pgsched_internal.notify_workers('turns') end from alone
)
select pgsched_internal.let_next({p}::smallint, k.client_id, k.ordering_key, true)
  from told cross join (select distinct * from unnest(%(clients)s::text[], %(keys)s::text[]) as k(client_id, ordering_key)) k
