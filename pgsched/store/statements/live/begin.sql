-- begin: notes of leased rows that may have one attempt only that this has begun, before anybody is called. Fenced by the token; passes over
-- what somebody else has locked. Index: the primary key; HOT, for the column is in no index.
update pgsched_internal.executions_{p} e set begun = case when %(begun)s then e.lease_token end
 where e.id = any (array(
         select r.id from pgsched_internal.executions_{p} r
          where r.id = any (%(ids)s) and r.lease_token = any (%(tokens)s) for update skip locked))
returning e.id
