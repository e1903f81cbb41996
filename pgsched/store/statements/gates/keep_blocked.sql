-- renew: ordering keys wait for longer, since the calls of these executions, which were cancelled, are not over. Index: blocked_keys_execution.
update pgsched.blocked_keys b set until = pgsched.now() + %(lease)s
 where b.execution_id = any (%(ids)s::uuid[]) and b.until is not null
