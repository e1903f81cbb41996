-- Checks whether any execution waits for another. Also returns the seconds until a stored result must next be recorded,
-- and the seconds until an execution held by a gate next reaches its deadline; each is null if there is none. Indexes:
-- results_to_record_try_at, executions_held_until.
select exists (select from pgsched.dependencies),
       (select extract(epoch from min(r.try_at) - clock_timestamp())::float8 from pgsched_internal.results_to_record r),
       (select extract(epoch from min(e.held_until) - pgsched.now())::float8
          from pgsched.executions e where e.gate <> 'error' and not isfinite(e.fire_at) and e.held_until is not null)
