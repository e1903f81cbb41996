-- reap: ends what a gate holds and whose time is over. Locks these and what their ends write, and passes over what somebody has locked.
-- Index: executions_held_until.
select pgsched_internal.end_overdue(%(most)s)
