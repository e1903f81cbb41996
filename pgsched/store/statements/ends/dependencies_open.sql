-- Whether any execution waits for another, in how many seconds a result that was kept is to be tried to record, and in how many the
-- time of one is over that a gate holds; nothing is looked for where there is none. Indexes: results_to_record_try_at, executions_held_until.
select exists (select from pgsched.dependencies),
       (select extract(epoch from min(r.try_at) - clock_timestamp())::float8 from pgsched_internal.results_to_record r),
       (select extract(epoch from min(e.held_until) - pgsched.now())::float8
          from pgsched.executions e where e.gate <> 'error' and not isfinite(e.fire_at) and e.held_until is not null)
