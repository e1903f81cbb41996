-- plan: records that these jobs have their next rows, and that the instants during their pauses are accounted for.
update pgsched.jobs set planned_revision = revision, paused_at = null where id = any (%(jobs)s)
