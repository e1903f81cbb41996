-- stats: what was done in a span, by client, the busiest first; of some clients, or of all. In a minute there are 1,000 rows at the most.
-- Locks nothing. Index: rollups_minute of each day, or its primary key.
select r.client_id as client,{clauses}
  from pgsched.rollups r
 where r.client_id <> '' and (%(clients)s::text[] is null or r.client_id = any (%(clients)s::text[]))
   and r.minute >= %(start)s and r.minute < %(end)s and (%(queue)s::text is null or r.queue = %(queue)s::text)
 group by r.client_id order by attempts desc, r.client_id limit %(limit)s
