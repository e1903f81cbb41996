-- stats: what was done in each step of a span, of some clients together, in one queue or in all. Locks nothing. Index: the primary key of each day.
select pg_catalog.date_bin(make_interval(secs => %(step)s), r.minute, '1970-01-01 00:00+00') as starts_at,{clauses}
  from pgsched.rollups r
 where r.client_id = any (%(clients)s) and r.minute >= %(start)s and r.minute < %(end)s
   and (%(queue)s::text is null or r.queue = %(queue)s::text)
 group by 1 order by 1
