-- gates: one worker at a time feeds on from a gate. To try for the lock waits for nobody.
select pgsched_internal.try_lock('feeding ' || (hashtextextended(%(gate)s, 0) & 1023))
