-- renew: keeps ordering keys blocked while the calls of these cancelled executions are still running. Index:
-- blocked_keys_execution.
update pgsched.blocked_keys b set until = pgsched.now() + %(lease)s
 where b.execution_id = any (%(ids)s::uuid[]) and b.until is not null
