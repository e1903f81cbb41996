-- The sweep: those that wait for an execution that neither lives nor stands in history. Reads all that is waited for,
-- so it runs seldom. Indexes: the primary key of each partition; history_id.
select pgsched_internal.release_abandoned(%(most)s)
