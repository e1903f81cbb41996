-- gates: which of these hold executions back that wait for a worker, or for a process of their own. Each is one probe of
-- each partition's index, and all are spared where none holds anything. Index: executions_gate.
select n.name from unnest(%(names)s::text[]) as n(name)
 cross join lateral (select from pgsched.executions e where e.gate = any (array[n.name]) and not isfinite(e.fire_at) limit 1) as found
