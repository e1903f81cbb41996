-- now: how many rows the partitions of each queue have been given and have lost since the server began to count: what was scheduled, and
-- what has ended. Sessions tell of it within a second or so. Reads statistics, and no row. The server's time, in seconds.
select q.name as queue, coalesce(sum(s.n_tup_ins), 0)::bigint as scheduled, coalesce(sum(s.n_tup_del), 0)::bigint as ended,
       extract(epoch from clock_timestamp())::float8 as at
  from pgsched.queues q
 cross join pgsched_internal.partitions_of(q.first_partition) p
  left join pg_catalog.pg_stat_user_tables s on s.schemaname = 'pgsched_internal' and s.relname = 'executions_' || p
 group by q.name order by q.name limit %(queues)s
