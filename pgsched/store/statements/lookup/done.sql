-- stats: the work done in a time span, for some clients or for all, grouped by time step, by queue or by client,
-- busiest first. A minute has at most 1,000 rows. Locks nothing. Index: the primary key of each day, or its
-- rollups_minute.
select case %(by)s when 'time' then date_bin(make_interval(secs => %(step)s::float8), r.minute, '1970-01-01 00:00+00') end as starts_at,
       case %(by)s when 'queue' then r.queue end as queue, case %(by)s when 'client' then r.client_id end as client,{clauses}
  from pgsched.rollups r
 where (%(clients)s::text[] is null and r.client_id <> '' or r.client_id = any (%(clients)s::text[]))
   and r.minute >= %(start)s and r.minute < %(end)s and (%(queue)s::text is null or r.queue = %(queue)s::text)
 group by 1, 2, 3 order by 1, attempts desc, 2, 3 limit %(limit)s
