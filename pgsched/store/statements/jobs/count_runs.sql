-- claim: counts one more run of each job whose runs are counted, even if it was changed while its row was claimed.
-- Returns the new counts. The claim has already locked these jobs in order (hold_jobs). Index: the primary key.
update pgsched.jobs set runs = least(runs, 2147483646) + 1 where id = any (%(jobs)s) returning id, runs
