-- migrate: partitions of queues whose tables are missing or were detached: their numbers, and whether consumers pull
-- from them. Locks nothing.
select p, q.pulled from pgsched.queues q, pgsched_internal.partitions_of(q.first_partition) p
 where not exists (select from pg_catalog.pg_inherits h where h.inhparent = 'pgsched.executions'::regclass
                      and h.inhrelid = to_regclass('pgsched_internal.executions_' || p)) order by 1
