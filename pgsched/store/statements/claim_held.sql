-- claim: leases executions that a gate holds, by priority and instant. Locks what it
-- takes and passes over what another worker holds. Index: executions_gate; then the primary key.
with fed as materialized (
  select h.partition, h.id from pgsched.executions h
   where h.gate = %(gate)s and not isfinite(h.fire_at) and h.lease_token is null and h.partition = any (%(partitions)s)
   order by coalesce((h.options ->> 'priority')::smallint, 0::smallint) desc, h.scheduled_for, h.id limit %(batch)s for update skip locked
)
update pgsched.executions e
   set fire_at = greatest(pgsched.now(), e.scheduled_for), gate = null, lease_owner = %(owner)s, lease_token = %(token)s,
       lease_expires_at = pgsched.now() + %(lease)s, attempt = e.attempt + 1
  from fed where e.partition = fed.partition and e.id = any (array[fed.id])
returning e.partition, e.id, e.lease_token, e.attempt, e.fire_at, coalesce(e.scheduled_for, e.fire_at), e.client_id,
          e.target, e.payload, e.options, e.job_id, e.plan, e.key, e.ordering_key
