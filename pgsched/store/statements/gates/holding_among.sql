-- gates: the gates, among these, that hold executions waiting for a worker or for an isolated process. Each gate takes
-- one probe of each partition's index. Index: executions_gate.
select n.name from unnest(%(names)s::text[]) as n(name)
 cross join lateral (select from pgsched.executions e where e.gate = any (array[n.name]) and not isfinite(e.fire_at) limit 1) as found
