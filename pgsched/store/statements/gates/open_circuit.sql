-- circuits: leaves a failing target alone, for as long as it asked for, or a second, twice as long each time that it
-- fails again, and ten at the most: when its probe failed, or while it recovered. What was under way when another worker opened it changes
-- nothing, but what the target asked for counts. One shut by hand stays shut. It fails since the first failure that the worker saw which
-- opens it; that stays so until a probe succeeds. Index: the primary key.
insert into pgsched_internal.gates as g (name, events, period, shut_until, openings, failing_since, reason)
values (%(name)s, %(rate)s, interval '1 second', pgsched.now() + greatest(%(asked)s, interval '1 second'), 1, pgsched.now() - %(failed_for)s, %(reason)s)
    on conflict (name) do update
   set shut_until = pgsched.now() + greatest(%(asked)s, interval '1 second' * least(10, 2 ^ least(g.openings, 4))),
       recovers_from = null, openings = g.openings + 1, failing_since = coalesce(g.failing_since, excluded.failing_since), reason = excluded.reason, updated_at = pgsched.now()
 where g.shut_until is distinct from 'infinity'
   and (g.recovers_from is not null or %(probe)s or g.shut_until < pgsched.now() + %(asked)s)
returning name
