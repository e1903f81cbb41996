-- gates: the state of these gates and the microseconds between their events, ordered by name for callers that lock the
-- gates. Index: the primary key.
select g.name, (extract(epoch from g.period) * 1000000 / g.events)::float8 as "interval", g.burst, g.concurrency, g.next_at,
       g.shut_until, g.recovers_from
  from pgsched_internal.gates g where g.name = any (%(names)s) order by g.name{clauses}
