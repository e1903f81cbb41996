-- gates: how many executions that passed these gates are in flight on the other workers. A separate statement, so that
-- it sees the writes of transactions for whose locks the previous statement waited. Index: the primary key.
select u.gate, sum(u.running)::integer from pgsched_internal.gate_use u
 where u.gate = any (%(names)s) and u.worker <> %(worker)s group by u.gate
