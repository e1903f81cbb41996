-- plan: these jobs have their row now.
update pgsched.jobs set planned_revision = revision where id = any (%(jobs)s)
