-- The subscriptions by which executions arrive from another database. Everybody may read these columns. Locks nothing.
select distinct s.subname from pg_catalog.pg_subscription s
  join pg_catalog.pg_subscription_rel r on r.srsubid = s.oid
 where s.subenabled
   and r.srrelid in (select t.relid from pg_catalog.pg_partition_tree('pgsched.executions') t)
 order by 1
