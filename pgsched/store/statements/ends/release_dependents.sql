-- release: those that waited for executions that have ended fire now, or never will. Locks the ends it looks at in
-- history and the rows that wait for them, so many of either, and passes over what another holds: a later turn finds it as it was.
-- Index: history_awaited; dependencies_after.
select noted, decided, read_to, behind_to from pgsched_internal.release_dependents(%(most)s, %(after)s, %(behind)s)
