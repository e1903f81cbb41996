-- claim: selects the claimed rows whose turn it is under their ordering key: the row at the head of the key or, if the
-- key has no head and is not blocked, its first row, which then stays at the head until it ends. The claim has locked
-- the partition's ordering. Indexes: executions_head, executions_ordering.
with mine as materialized (
  select e.id, e.client_id, e.ordering_key, e.at_head from pgsched_internal.executions_{p} e where e.id = any (%(ids)s)
), next as (
  select coalesce(
           (select x.id from pgsched_internal.executions_{p} x
             where x.client_id = k.client_id and x.ordering_key = k.ordering_key and x.at_head),
           (select x.id from pgsched_internal.executions_{p} x
             where x.client_id = k.client_id and x.ordering_key = k.ordering_key
               and (isfinite(x.fire_at) or x.gate is not null or not pgsched_internal.waits_for_own(x.partition, x.id))
               and (select b.partition from pgsched.blocked_keys b where b.client_id = k.client_id
                       and b.ordering_key = k.ordering_key and b.partition = {p}
                       and (b.until is null or b.until > pgsched.now())) is null
             order by coalesce(x.scheduled_for, x.fire_at), x.id limit 1)) as id
    from (select distinct m.client_id, m.ordering_key from mine m) k
), advanced as (
  update pgsched_internal.executions_{p} e set at_head = true
    from next where e.id = any (array[next.id]) and e.lease_token = any (%(tokens)s) and e.at_head is not true
  returning e.id
)
select id from advanced union all select m.id from mine m where m.at_head
