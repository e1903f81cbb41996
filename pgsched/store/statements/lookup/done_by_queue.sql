-- stats: what was done in a span, of some clients together, by queue. Locks nothing. Index: the primary key of each day.
select r.queue,{clauses}
  from pgsched.rollups r
 where r.client_id = any (%(clients)s) and r.minute >= %(start)s and r.minute < %(end)s
   and (%(queue)s::text is null or r.queue = %(queue)s::text)
 group by r.queue order by attempts desc, r.queue limit %(limit)s
