-- gates: tries to become the only worker that feeds from a gate. Never waits for the lock.
select pgsched_internal.try_lock('feeding ' || (hashtextextended(%(gate)s, 0) & 1023))
