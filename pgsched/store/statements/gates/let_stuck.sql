-- ordering: finds keys with waiting executions of which none has the turn, for example after a manual deletion, and
-- gives the turn to each key's next execution. Visits up to `most` keys of the partition, starting after a mark.
-- Returns the number of keys, the last key, and the number of executions that got a turn. Returns no row if another
-- transaction has locked the partition's ordering. Index: executions_ordering.
with recursive alone as materialized (
  select 1 where cardinality(pgsched_internal.try_orderings(array[{p}::smallint])) > 0
), keys as (
  (select 1 as n, e.client_id, e.ordering_key from pgsched_internal.executions_{p} e
    where exists (select from alone) and e.ordering_key is not null and (e.client_id, e.ordering_key) > (%(client)s, %(key)s)
    order by e.client_id, e.ordering_key limit 1)
  union all
  select k.n + 1, n.client_id, n.ordering_key
    from keys k cross join lateral (
           select e.client_id, e.ordering_key from pgsched_internal.executions_{p} e
            where e.ordering_key is not null and (e.client_id, e.ordering_key) > (k.client_id, k.ordering_key)
            order by e.client_id, e.ordering_key limit 1) n
   where k.n < %(most)s
), let as materialized (
  select n, client_id::text, ordering_key::text,
         pgsched_internal.let_next({p}::smallint, client_id, ordering_key) is not null as has_turn from keys
)
select n, client_id, ordering_key, (select count(*) from let where has_turn) from let order by n desc limit 1
