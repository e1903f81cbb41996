-- days: deletes the progress of executions that have ended, up to a limit. Index: executions_pkey.
delete from pgsched.progress p where p.execution_id = any (array(
  select o.execution_id from pgsched.progress o
   where not exists (select from pgsched.executions e where e.partition = o.partition and e.id = o.execution_id)
   limit %(most)s))
