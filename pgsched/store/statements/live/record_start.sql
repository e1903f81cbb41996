-- begin: records, before any target is called, that the only attempt of these leased rows has begun. Fenced by the
-- token; skips rows that another transaction has locked. Index: the primary key. The update is HOT, because no index
-- has the column.
update pgsched_internal.executions_{p} e set begun = case when %(begun)s then e.lease_token end
 where e.id = any (array(
         select r.id from pgsched_internal.executions_{p} r
          where r.id = any (%(ids)s) and r.lease_token = any (%(tokens)s) for update skip locked))
returning e.id
