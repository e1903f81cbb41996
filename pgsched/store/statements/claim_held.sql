-- claim: leases executions that a gate holds, by priority and instant. Locks what it
-- takes and passes over what another worker holds. Index: executions_gate; then the primary key.
with fed as materialized (
  select due.partition, due.id from pgsched.executions due
   where due.gate = %(gate)s and not isfinite(due.fire_at) and due.lease_token is null and due.partition = any (%(partitions)s){passing}
   order by coalesce((due.options ->> 'priority')::smallint, 0::smallint) desc, due.scheduled_for, due.id limit %(batch)s for update skip locked
)
update pgsched.executions e
   set fire_at = greatest(pgsched.now(), e.scheduled_for), gate = null, lease_owner = %(owner)s, lease_token = %(token)s,
       lease_expires_at = pgsched.now() + %(lease)s, attempt = e.attempt + 1
  from fed where e.partition = fed.partition and e.id = any (array[fed.id])
returning e.partition, e.id, e.lease_token, e.attempt, e.fire_at, coalesce(e.scheduled_for, e.fire_at), e.client_id,
          e.target, e.payload, e.options, e.job_id, e.plan, e.key, e.ordering_key
