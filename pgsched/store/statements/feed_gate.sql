-- gates: one worker at a time feeds on from a gate. To try for the lock waits for nobody.
select pg_try_advisory_xact_lock(hashtextextended(%(gate)s, 1885631331))
