-- gates: the next of those that hold something back, in the order of their names; each is found by one probe of each
-- partition's index. What waits for a worker that can deliver it is behind all others, and not looked through here: there
-- may be any number of names. Index: executions_gate.
with recursive holding as (
  (select e.gate from pgsched.executions e where e.gate > %(after)s and e.gate < 'worker:' and not isfinite(e.fire_at) order by e.gate limit 1)
  union all
  select (select e.gate from pgsched.executions e where e.gate > h.gate and e.gate < 'worker:' and not isfinite(e.fire_at) order by e.gate limit 1)
    from holding h where h.gate is not null
)
select gate from holding where gate is not null limit %(most)s
