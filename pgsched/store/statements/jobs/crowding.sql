-- plan: how many rows wait in each of these spans of time, counted up to a thousand. Locks nothing. Index: executions_fire_at.
select (select count(*) from (select from pgsched_internal.executions_{p} e
                               where e.partition = {p} and e.fire_at >= s.low and e.fire_at < s.high limit 1000) found)
  from unnest(%(lows)s, %(highs)s) with ordinality as s(low, high, n) order by s.n
