-- pull: wakes consumers that wait for a partition's rows, because rows were released to them. Also works in a worker's
-- session, which has notifications turned off.
select set_config('pgsched.notify', 'on', true), pgsched_internal.notify_wake(%(partition)s::smallint, %(fire_at)s),
       set_config('pgsched.notify', 'off', true)
