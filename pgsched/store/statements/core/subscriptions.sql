-- The subscriptions through which executions arrive from another database. Everyone may read these columns. Locks
-- nothing.
select distinct s.subname from pg_catalog.pg_subscription s
  join pg_catalog.pg_subscription_rel r on r.srsubid = s.oid
 where s.subenabled
   and (r.srrelid = 'pgsched.executions'::pg_catalog.regclass
     or r.srrelid in (select i.inhrelid from pg_catalog.pg_inherits i where i.inhparent = 'pgsched.executions'::pg_catalog.regclass))
 order by 1
