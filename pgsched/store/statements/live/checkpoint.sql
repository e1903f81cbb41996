-- report: what the handler of an execution goes on from. Locks nothing; index: progress_pkey.
select p.checkpoint::text from pgsched.progress p where p.execution_id = %(execution)s
