-- wake: notifies listeners. The notification is only a hint: it is skipped if the server's queue is half full, so that
-- it never fails.
select pg_catalog.pg_notify(%(channel)s, %(said)s) where pg_catalog.pg_notification_queue_usage() < 0.5
