-- wake: says something to those that listen. It is a hint, and no reason to fail where the queue of notifications is not being emptied.
select pg_catalog.pg_notify(%(channel)s, %(said)s) where pg_catalog.pg_notification_queue_usage() < 0.5
