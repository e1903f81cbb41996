-- claim: one more run of a job whose runs are counted, also where it was changed while its row was claimed; answers with
-- how many there have been. Locks the job.
update pgsched.jobs set runs = least(runs, 2147483646) + 1 where id = %(job)s returning runs
