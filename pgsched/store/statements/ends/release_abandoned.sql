-- The sweep: those that wait for an execution that neither lives nor stands in history. Looks at so many that are waited for,
-- those behind a mark; answers with how many executions it decided, and the next mark. Indexes: dependencies_after; the primary
-- key of each partition; history_id.
select decided, read_to from pgsched_internal.release_abandoned(%(most)s, %(after)s)
