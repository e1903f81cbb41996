-- call: the notification of a notify: target, and the settle of its execution, in one transaction: whoever listens hears of
-- it when both are committed. Fenced by the token; index: the primary key.
select pg_catalog.pg_notify(%(channel)s, %(payload)s),
       pgsched_internal.settle_called(%(partition)s::smallint, %(id)s, %(token)s, null)
