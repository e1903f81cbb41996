-- dependencies: the executions that an execution waits for, or waited for before it began, up to a limit. Locks
-- nothing. Index: the primary key of dependencies.
select d.after_id, d.outcome, d.status::text as status, d.finished_at
  from pgsched.dependencies d where d.execution_id = %(id)s order by d.after_id limit %(most)s
