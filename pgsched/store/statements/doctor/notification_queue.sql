-- doctor: the used part of the server's queue of notifications.
select pg_catalog.pg_notification_queue_usage()
