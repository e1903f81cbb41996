-- days: deletes dead letters that have expired; skips what somebody has locked.
select pgsched_internal.expire_dead_letters(%(most)s)
