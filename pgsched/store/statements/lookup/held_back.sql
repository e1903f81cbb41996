-- now: the first gates, by name, that hold something back, and how many executions each holds, counted up to a bound. Each gate is one
-- probe of each partition's index. Locks nothing. Index: executions_gate.
with recursive holding (gate, n) as (
  (select e.gate, 1 from pgsched.executions e where e.gate is not null and not isfinite(e.fire_at) order by e.gate limit 1)
  union all
  select (select e.gate from pgsched.executions e where e.gate > h.gate and not isfinite(e.fire_at) order by e.gate limit 1), h.n + 1
    from holding h where h.gate is not null and h.n < %(gates)s
)
select h.gate, (select count(*) from (
         select from pgsched.executions e where e.gate = h.gate and not isfinite(e.fire_at) limit %(most)s) found) as held
  from holding h where h.gate is not null
