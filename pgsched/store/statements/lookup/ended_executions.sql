-- page: the first rows that have ended, from history or from the dead letters that are kept longer. Without contents,
-- neither payload nor result is read. Locks nothing. Indexes: history_id, history_failed, the primary key of
-- kept_dead_letters.
select first.id, first.client_id as client, first.key, first.job_id, q.name as queue, first.status::text as status, first.target,
       case when %(contents)s then first.payload end as payload, coalesce(first.scheduled_for, first.fire_at) as scheduled_for, first.fire_at,
       first.attempt, first.created_at, first.finished_at, first.status_code, case when %(contents)s then first.result end as result,
       first.reason, first.options, first.ordering_key, first.worker, first.began_at, make_interval(secs => first.seconds) as duration,
       null::timestamptz as lease_expires_at, first.instants,
       first.last_scheduled_for, null::text as held_by, first.labels, null::jsonb as waits
  from (select r.* from {table} r where true{clauses} order by r.id{order} limit %(limit)s) first
  left join pgsched.queues q on q.first_partition = pgsched_internal.first_partition_of(first.partition)
