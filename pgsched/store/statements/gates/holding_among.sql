-- gates: which of these gates hold executions that wait for a worker or an isolated process. Probes each partition's
-- index once for each gate. Index: executions_gate.
select n.name from unnest(%(names)s::text[]) as n(name)
 cross join lateral (select from pgsched.executions e where e.gate = any (array[n.name]) and not isfinite(e.fire_at) limit 1) as found
