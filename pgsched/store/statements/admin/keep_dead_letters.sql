-- days: moves dead letters out of the days that are to be dropped. One worker at a time; the others have nothing to do then.
select case when pgsched_internal.try_lock('days') then pgsched_internal.keep_dead_letters(%(kept)s, %(most)s) end
