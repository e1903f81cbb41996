-- testing: deletes all executions and jobs, and their outcomes; settings of clients, queues and limits stay. Locks the
-- rows that it deletes, live rows before the rows that refer to them.
with executions as (delete from pgsched.executions),
     jobs as (delete from pgsched.jobs),
     history as (delete from pgsched.history),
     attempts as (delete from pgsched.attempts),
     rollups as (delete from pgsched.rollups),
     counts as (delete from pgsched_internal.counts_to_roll_up),
     progress as (delete from pgsched.progress),
     dependencies as (delete from pgsched.dependencies),
     letters as (delete from pgsched_internal.kept_dead_letters),
     keys as (delete from pgsched_internal.keys),
     blocked as (delete from pgsched.blocked_keys)
delete from pgsched.workers
