-- sift: locks the executions that a gate holds and would let pass next, and skips rows that another worker has locked.
-- Does not read the rest of their contents. Index: executions_gate.
select h.partition, h.id from pgsched.executions h
 where h.gate = %(gate)s and not isfinite(h.fire_at) and h.lease_token is null and h.partition = any ({partitions})
 order by coalesce((h.options ->> 'priority')::smallint, 0::smallint) desc, h.scheduled_for, h.id limit %(batch)s for update skip locked
