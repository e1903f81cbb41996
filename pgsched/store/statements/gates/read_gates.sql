-- gates: the state of these gates, with the microseconds between events; ordered by name, for callers that lock them.
-- Index: the primary key.
select g.name, (extract(epoch from g.period) * 1000000 / g.events)::float8 as "interval", g.burst, g.concurrency, g.next_at,
       g.shut_until, g.recovers_from
  from pgsched_internal.gates g where g.name = any (%(names)s) order by g.name{clauses}
