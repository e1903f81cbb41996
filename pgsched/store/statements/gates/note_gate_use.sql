-- gates: records, for each gate, how many executions that passed the gate are in flight on a worker. Skips gates and
-- workers that no longer exist.
insert into pgsched_internal.gate_use (gate, worker, running)
select u.gate, %(worker)s, u.running from unnest(%(names)s::text[], %(counts)s::integer[]) as u(gate, running)
 where u.gate in (select g.name from pgsched_internal.gates g where g.name = any (%(names)s) for key share)
   and %(worker)s in (select w.id from pgsched.workers w where w.id = %(worker)s for key share)
    on conflict (gate, worker) do update set running = excluded.running
