-- look: whether any execution in these partitions has a priority, due or not. Locks nothing. Index: the last entry of
-- executions_priority in each partition. The condition `<= 100`, which is always true, and the order by clause make the
-- planner use the index even if the table has no statistics.
select exists (select from pgsched.executions e
                where e.options ? 'priority' and (e.options ->> 'priority')::smallint <= 100 and e.partition = any ({partitions})
                order by (e.options ->> 'priority')::smallint desc limit 1)
