-- ordering: whether any execution is held until its turn comes. Index: the first matching entry of executions_gate.
select exists (select from pgsched.executions e where e.gate = 'order' and not isfinite(e.fire_at) limit 1)
