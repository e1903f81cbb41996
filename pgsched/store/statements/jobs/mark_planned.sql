-- plan: records that these jobs have their next row, and that the instants of their pause are accounted for.
update pgsched.jobs set planned_revision = revision, paused_at = null where id = any (%(jobs)s)
