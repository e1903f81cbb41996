-- pull: tells whoever waits for a partition of rows that were passed on; also from a worker's session, which is silent.
select set_config('pgsched.notify', 'on', true), pgsched_internal.notify_wake(%(partition)s::smallint, %(fire_at)s),
       set_config('pgsched.notify', 'off', true)
