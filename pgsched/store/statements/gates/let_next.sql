-- ordering: lets the next of each key have its turn, of which one has ended; the partition's order is locked. Index:
-- executions_ordering.
select pgsched_internal.let_next_alone({p}::smallint, k.client_id, k.ordering_key)
  from (select distinct * from unnest(%(clients)s::text[], %(keys)s::text[]) as k(client_id, ordering_key)) k
