-- Whether any execution waits for another, and in how many seconds a result that was kept is to be tried to record; nothing is
-- looked for where there is none. Index: results_to_record_try_at.
select exists (select from pgsched.dependencies),
       (select extract(epoch from min(r.try_at) - clock_timestamp())::float8 from pgsched_internal.results_to_record r)
