-- gates: how many executions the other workers have in hand of those that passed. A statement of its own, so that it
-- sees what those wrote on whose lock the statement before it waited. Index: the primary key.
select u.gate, sum(u.running)::integer from pgsched_internal.gate_use u
 where u.gate = any (%(names)s) and u.worker <> %(worker)s group by u.gate
