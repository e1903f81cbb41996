-- claim: counts one more run of each job, even if the job was changed while its row was being claimed. Returns the new
-- counts. The claim has already locked these jobs in order (hold_jobs). Index: the primary key.
update pgsched.jobs set runs = least(runs, 2147483646) + 1 where id = any (%(jobs)s) returning id, runs
