-- forecast: the number of attempts in the workers' busiest minute of the last 7 days; null if there were none. Locks
-- nothing. Index: the primary key of each day.
select max(m.attempts) from (
  select sum(r.attempts)::bigint as attempts from pgsched.rollups r
   where r.client_id = '' and r.minute > pgsched.now() - interval '7 days' group by r.minute) m
