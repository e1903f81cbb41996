-- look: whether any execution in these partitions has a priority, due or not. Locks nothing. Index: executions_priority, its last entry in
-- each partition: that none is over 100, and the order, keep a table without statistics from being read.
select exists (select from pgsched.executions e
                where e.options ? 'priority' and (e.options ->> 'priority')::smallint <= 100 and e.partition = any ({partitions})
                order by (e.options ->> 'priority')::smallint desc limit 1)
