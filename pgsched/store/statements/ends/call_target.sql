-- call: the function of an sql: target, and the settle of its execution, in one transaction. What it does is as the role of
-- the session. The row is locked last, so that its lease is renewed meanwhile. Fenced by the token; index: the primary key.
select pgsched_internal.call_target(%(schema)s, %(function)s, %(payload)s::jsonb, %(client)s, %(attempt)s, %(scheduled_for)s,
                           %(partition)s::smallint, %(id)s, %(token)s)
