-- wake: a listener makes sure that it hears, unless the queue of notifications is filling up.
select pg_notify(%(channel)s, %(word)s) where pg_notification_queue_usage() < 0.5
