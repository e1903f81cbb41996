-- now: how many rows the partitions of each queue have gained (scheduled) and lost (ended) since the server's
-- statistics were reset, and the server's time in seconds. Sessions report these counts within about a second. Reads
-- statistics and no rows.
select q.name as queue, coalesce(sum(s.n_tup_ins), 0)::bigint as scheduled, coalesce(sum(s.n_tup_del), 0)::bigint as ended,
       extract(epoch from clock_timestamp())::float8 as at
  from pgsched.queues q
 cross join pgsched_internal.partitions_of(q.first_partition) p
  left join pg_catalog.pg_stat_user_tables s on s.schemaname = 'pgsched_internal' and s.relname = 'executions_' || p
 group by q.name order by q.name limit %(queues)s
