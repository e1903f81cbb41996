-- circuits: starts the recovery of a circuit after its target has answered a probe: executions pass at a rising rate.
-- Index: the primary key.
update pgsched_internal.gates g set recovers_from = pgsched.now(), shut_until = null, failing_since = null, next_at = pgsched.now(), updated_at = pgsched.now()
 where g.name = %(name)s and g.recovers_from is null and g.shut_until is distinct from 'infinity'
returning g.name
