-- claim: one more run of a job whose runs are counted; answers with how many there have been. Locks the job.
update pgsched.jobs set runs = runs + 1 where id = %(job)s and revision = %(revision)s returning runs
