-- gates: the next gates, ordered by name, that hold executions. Each gate is found by one probe of each partition's
-- index. Gates of executions that wait for a capable worker sort last. They are not read here, because their number is
-- unlimited. Index: executions_gate.
with recursive holding as (
  (select e.gate from pgsched.executions e where e.gate > %(after)s and e.gate < 'worker:' and not isfinite(e.fire_at) order by e.gate limit 1)
  union all
  select (select e.gate from pgsched.executions e where e.gate > h.gate and e.gate < 'worker:' and not isfinite(e.fire_at) order by e.gate limit 1)
    from holding h where h.gate is not null
)
select gate from holding where gate is not null limit %(most)s
