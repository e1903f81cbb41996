-- next_due: the instant of each partition's earliest waiting row at or after `low`, the database's time for comparison,
-- and how full the notification queue is. If claims skip rows, `until` keeps this search from reading all later rows
-- and the rows that gates hold. Locks nothing. Index: the first entry of executions_fire_at without a lease in each
-- partition.
select {p}::smallint as partition,
       (select due.fire_at from pgsched_internal.executions_{p} due
         where due.partition = {p} and due.fire_at >= %(low_{p})s and due.fire_at <= %(until)s and due.lease_token is null{clauses}
         order by due.fire_at limit 1) as fire_at
-- then
select partition, fire_at, pgsched.now() + (clock_timestamp() - now()), (select pg_notification_queue_usage()) from ({rows}) next
