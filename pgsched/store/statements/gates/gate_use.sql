-- gates: counts the executions that passed these gates and are in flight on other workers. A separate statement,
-- because it must see the writes of the transactions whose locks the previous statement waited for. Index: the primary
-- key.
select u.gate, sum(u.running)::integer from pgsched_internal.gate_use u
 where u.gate = any (%(names)s) and u.worker <> %(worker)s group by u.gate
