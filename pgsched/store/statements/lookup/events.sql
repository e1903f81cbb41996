-- History entries of transactions that were open at the reader's last poll or have begun since. If a transaction was
-- only partly read, its other entries come first. Locks nothing. Index: history_settled_in of the days since the
-- earliest entry to be read.
select h.settled_in, h.id, h.client_id as client, h.key, h.job_id, q.name as queue, h.status::text as status, h.target, h.scheduled_for,
       h.finished_at, h.attempt, h.status_code, h.reason, h.instants, h.last_scheduled_for
  from pgsched.history h
  left join pgsched.queues q on q.first_partition = pgsched_internal.first_partition_of(h.partition)
 where h.finished_at >= %(earliest)s::timestamptz
   and (h.settled_in = any (%(late)s::bigint[]) or h.settled_in >= %(low)s::bigint and h.settled_in < %(high)s::bigint)
   and h.settled_in <> all (%(open)s::bigint[])
   and (h.settled_in <> %(partly)s::bigint or h.id > %(id)s::uuid)
   and (%(clients)s::text[] is null or h.client_id = any (%(clients)s::text[]))
 order by h.settled_in <> %(partly)s::bigint, h.settled_in, h.id
 limit %(limit)s
