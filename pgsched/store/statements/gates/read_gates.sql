-- gates: how they stand, with the microseconds between events; in one order, for whoever locks them. Index: the primary key.
select g.name, (extract(epoch from g.period) * 1000000 / g.events)::float8 as "interval", g.burst, g.concurrency, g.next_at,
       g.shut_until, g.recovers_from
  from pgsched_internal.gates g where g.name = any (%(names)s) order by g.name{clauses}
