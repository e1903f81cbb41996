-- doctor: the fraction of the server's notification queue that is in use.
select pg_catalog.pg_notification_queue_usage()
