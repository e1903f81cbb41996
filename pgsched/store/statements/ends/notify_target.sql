-- call: sends the notification of a notify: target and settles its execution, in one transaction. Listeners receive it
-- when the transaction commits. Fenced by the token. Index: the primary key.
select pg_catalog.pg_notify(%(channel)s, %(payload)s),
       pgsched_internal.settle_called(%(partition)s::smallint, %(id)s, %(token)s, null)
