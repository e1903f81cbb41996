-- claim: one more run of each job whose runs are counted, also where it was changed while its row was claimed; answers with
-- how many there have been. The claim has locked these jobs before (hold_jobs), in their order. Index: the primary key.
update pgsched.jobs set runs = least(runs, 2147483646) + 1 where id = any (%(jobs)s) returning id, runs
