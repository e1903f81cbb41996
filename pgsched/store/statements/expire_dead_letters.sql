-- days: deletes dead letters that have expired; skips what somebody has locked.
select pgsched.expire_dead_letters(%(most)s)
