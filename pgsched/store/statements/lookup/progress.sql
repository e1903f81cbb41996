-- show: the progress that an execution's handler has reported. Locks nothing. Index: progress_pkey.
select p.fraction, p.note, p.reported_at, p.checkpoint from pgsched.progress p where p.execution_id = %(execution)s
