-- gates: all gates. For each gate: how many executions per second, and how many at once, it lets pass; for a queue's
-- gate, the queue's first partition; for a gate that is shut by hand, the time when it opens, in microseconds since
-- 1970. A circuit that failures have opened does not count as shut.
select g.name, coalesce(g.events / extract(epoch from g.period), 'infinity')::float8 as rate,
       coalesce(g.concurrency, 'infinity'::float8) as concurrency, q.first_partition,
       case when g.shut_until > pgsched.now() and (g.name !~ '^circuit:' or g.openings = 0)
            then least(extract(epoch from least(g.shut_until, timestamptz '9999-12-31Z')) * 1000000, 9e18)::bigint end as shut_until
  from pgsched_internal.gates g left join pgsched.queues q on g.name = 'queue:' || q.name
