-- stats: what was done in a span, of some clients together, by queue. Locks nothing. Index: the primary key of each day.
select r.queue,
       sum(r.succeeded + r.failed + r.cancelled + r.expired + r.skipped)::bigint as ended, sum(r.succeeded)::bigint as succeeded,
       sum(r.failed)::bigint as failed, sum(r.cancelled)::bigint as cancelled, sum(r.expired)::bigint as expired,
       sum(r.skipped)::bigint as skipped, sum(r.attempts)::bigint as attempts, sum(r.failed_attempts)::bigint as failed_attempts,
       array[sum(r.lateness[1]), sum(r.lateness[2]), sum(r.lateness[3]), sum(r.lateness[4]), sum(r.lateness[5]),
         sum(r.lateness[6]), sum(r.lateness[7]), sum(r.lateness[8]), sum(r.lateness[9]), sum(r.lateness[10]),
         sum(r.lateness[11]), sum(r.lateness[12]), sum(r.lateness[13]), sum(r.lateness[14]), sum(r.lateness[15]),
         sum(r.lateness[16]), sum(r.lateness[17]), sum(r.lateness[18])]::bigint[] as lateness,
       array[sum(r.duration[1]), sum(r.duration[2]), sum(r.duration[3]), sum(r.duration[4]), sum(r.duration[5]),
         sum(r.duration[6]), sum(r.duration[7]), sum(r.duration[8]), sum(r.duration[9]), sum(r.duration[10]),
         sum(r.duration[11]), sum(r.duration[12]), sum(r.duration[13]), sum(r.duration[14]), sum(r.duration[15]),
         sum(r.duration[16]), sum(r.duration[17]), sum(r.duration[18])]::bigint[] as duration
  from pgsched.rollups r
 where r.client_id = any (%(clients)s) and r.minute >= %(start)s and r.minute < %(end)s
   and (%(queue)s::text is null or r.queue = %(queue)s::text)
 group by r.queue order by attempts desc, r.queue limit %(limit)s
