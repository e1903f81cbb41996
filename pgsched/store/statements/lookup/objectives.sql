-- objectives: for the first clients that have an objective, how late their attempts began, counting attempts since an
-- instant (null: in the last hour). Locks nothing. Index: the primary key of each day, one client after another.
select c.client_id as client, c.late_after, c.on_time_share, coalesce(sum(r.attempts), 0)::bigint as attempts,
       array[sum(r.lateness[1]), sum(r.lateness[2]), sum(r.lateness[3]), sum(r.lateness[4]), sum(r.lateness[5]), sum(r.lateness[6]),
         sum(r.lateness[7]), sum(r.lateness[8]), sum(r.lateness[9]), sum(r.lateness[10]), sum(r.lateness[11]), sum(r.lateness[12]),
         sum(r.lateness[13]), sum(r.lateness[14]), sum(r.lateness[15]), sum(r.lateness[16]), sum(r.lateness[17]), sum(r.lateness[18]),
         sum(r.lateness[19]), sum(r.lateness[20]), sum(r.lateness[21]), sum(r.lateness[22]), sum(r.lateness[23]), sum(r.lateness[24]),
         sum(r.lateness[25]), sum(r.lateness[26]), sum(r.lateness[27]), sum(r.lateness[28]), sum(r.lateness[29]), sum(r.lateness[30]),
         sum(r.lateness[31]), sum(r.lateness[32]), sum(r.lateness[33])]::bigint[] as lateness
  from (select c.client_id, c.late_after, c.on_time_share from pgsched.clients c
         where c.late_after is not null order by c.client_id limit %(most)s) c
  left join pgsched.rollups r on r.client_id = c.client_id and r.minute >= coalesce(%(start)s::timestamptz, pgsched.now() - interval '1 hour')
 group by c.client_id, c.late_after, c.on_time_share order by c.client_id
