-- report: the checkpoint from which an execution's handler continues. Locks nothing. Index: progress_pkey.
select p.checkpoint::text from pgsched.progress p where p.execution_id = %(execution)s
