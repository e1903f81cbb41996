-- plan: these jobs have their row now, and the instants of a pause their account.
update pgsched.jobs set planned_revision = revision, paused_at = null where id = any (%(jobs)s)
