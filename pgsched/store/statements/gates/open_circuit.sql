-- circuits: opens a circuit that is new, whose probe failed, or whose target failed during recovery. The circuit stays
-- open for as long as the target asked for, or for one second, doubled with each further failure up to ten seconds.
-- Calls that were in flight when another worker opened the circuit change nothing, unless the target asked for a longer
-- pause. A circuit shut by hand stays shut. failing_since, the time when the target began to fail, is kept until a
-- probe succeeds. Index: the primary key.
insert into pgsched_internal.gates as g (name, events, period, shut_until, openings, failing_since, reason)
values (%(name)s, %(rate)s, interval '1 second', pgsched.now() + greatest(%(asked)s, interval '1 second'), 1, pgsched.now() - %(failed_for)s, %(reason)s)
    on conflict (name) do update
   set shut_until = pgsched.now() + greatest(%(asked)s, interval '1 second' * least(10, 2 ^ least(g.openings, 4))),
       recovers_from = null, openings = g.openings + 1, failing_since = coalesce(g.failing_since, excluded.failing_since), reason = excluded.reason, updated_at = pgsched.now()
 where g.shut_until is distinct from 'infinity'
   and (g.recovers_from is not null or %(probe)s or g.shut_until < pgsched.now() + %(asked)s)
returning name
