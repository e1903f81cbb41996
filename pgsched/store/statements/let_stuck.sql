-- ordering: lets the next of each key have its turn that nobody has and somebody waits for, such as after a deletion by
-- hand. Visits each key of the partition once. Index: executions_ordering.
with recursive keys as (
  (select e.client_id, e.ordering_key from pgsched_internal.executions_{p} e where e.ordering_key is not null
    order by e.client_id, e.ordering_key limit 1)
  union all
  select n.client_id, n.ordering_key
    from keys k cross join lateral (
           select e.client_id, e.ordering_key from pgsched_internal.executions_{p} e
            where e.ordering_key is not null and (e.client_id, e.ordering_key) > (k.client_id, k.ordering_key)
            order by e.client_id, e.ordering_key limit 1) n
)
select count(pgsched_internal.let_next({p}::smallint, client_id, ordering_key)) from keys
