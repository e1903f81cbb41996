-- dependencies: the executions that a held execution still waits for. Locks nothing. Index: the primary key of
-- dependencies.
select d.after_id from pgsched.dependencies d
 where d.execution_id = %(id)s and d.status is null
   and exists (select from pgsched.executions e where e.id = d.execution_id and e.fire_at = 'infinity')
 order by d.after_id
