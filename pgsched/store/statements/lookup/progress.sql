-- show: how far an execution is, of what its handler has said. Locks nothing; index: progress_pkey.
select p.fraction, p.note, p.reported_at, p.checkpoint from pgsched.progress p where p.execution_id = %(execution)s
