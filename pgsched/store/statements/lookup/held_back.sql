-- now: the first gates, ordered by name, that hold executions. For each gate: how many executions it holds, counted up
-- to a limit; when the first in line was due or, for a circuit, since when it has been failing; and what it lets pass.
-- Finding a gate takes a few probes of each partition's index. Locks nothing. Indexes: executions_gate, the primary key
-- of gates.
with recursive holding (gate, n) as (
  (select e.gate, 1 from pgsched.executions e where e.gate is not null and not isfinite(e.fire_at) order by e.gate limit 1)
  union all
  select (select e.gate from pgsched.executions e where e.gate > h.gate and not isfinite(e.fire_at) order by e.gate limit 1), h.n + 1
    from holding h where h.gate is not null and h.n < %(gates)s
)
select h.gate, (select count(*) from (
         select from pgsched.executions e where e.gate = h.gate and not isfinite(e.fire_at) limit %(most)s) found) as held,
       case when h.gate not like 'circuit:%%' then (
         select nullif(e.scheduled_for, 'infinity') from pgsched.executions e where e.gate = h.gate and not isfinite(e.fire_at)
          order by coalesce((e.options ->> 'priority')::smallint, 0::smallint) desc, e.scheduled_for limit 1) end as first_due,
       coalesce(g.shut_until = 'infinity', false) as on_hold, g.reason, g.events as rate, g.period as per, g.concurrency
  from holding h left join pgsched_internal.gates g on g.name = h.gate where h.gate is not null
