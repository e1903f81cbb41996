-- plan: how many rows wait in each part of a window, counted up to a thousand. Locks nothing. Index: executions_fire_at.
select (select count(*) from (select from pgsched_internal.executions_{p} e
                               where e.partition = {p} and e.fire_at >= s.low and e.fire_at < s.high limit 1000) found)
  from unnest(%(lows)s::timestamptz[], %(highs)s::timestamptz[]) with ordinality as s(low, high, n) order by s.n
