-- ordering: gives the next execution of each key its turn after one has ended. Locks the partition's ordering, so that
-- an execution that is being held behind one that is just ending is not missed; if another transaction has it locked
-- for long, notifies the workers to check again. The call of the ended execution is over, even if it was cancelled.
-- Index: executions_ordering.
with alone as materialized (
  select cardinality(pgsched_internal.try_orderings(array[{p}::smallint])) > 0 as is_so
), told as materialized (
  select case when not is_so then pgsched_internal.notify_workers('turns') end from alone
)
select pgsched_internal.let_next({p}::smallint, k.client_id, k.ordering_key, true)
  from told cross join (select distinct * from unnest(%(clients)s::text[], %(keys)s::text[]) as k(client_id, ordering_key)) k
