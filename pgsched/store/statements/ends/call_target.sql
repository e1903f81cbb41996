-- call: calls the function of an sql: target and settles its execution, in one transaction. The function runs as the
-- session's role. The row is locked last, so that its lease can be renewed while the function runs. Fenced by the
-- token. Index: the primary key.
select pgsched_internal.call_target(%(schema)s, %(function)s, %(payload)s::jsonb, %(client)s, %(attempt)s, %(scheduled_for)s,
                           %(partition)s::smallint, %(id)s, %(token)s)
