-- page: the first live rows of each partition. Repeats parts of the view pgsched.status, because filtering by status in
-- the view would compute the status of every row. Without contents, no payload is read. Locks nothing. Index: the
-- primary key (id, partition) of each partition.
select first.id, first.client_id as client, first.key, first.job_id, home.queue, first.status, first.target,
       case when %(contents)s then first.payload end as payload, coalesce(first.scheduled_for, first.fire_at) as scheduled_for, first.fire_at,
       first.attempt, first.created_at, null::timestamptz as finished_at, null::smallint as status_code, null::jsonb as result,
       case first.status when 'running' then null when 'held' then first.reason
                         else coalesce((select pgsched_internal.stalls()) ->> home.first_partition::text, first.reason) end as reason,
       first.options, first.ordering_key, first.lease_owner as worker, null::timestamptz as began_at, null::interval as duration, first.lease_expires_at, null::bigint as instants,
       null::timestamptz as last_scheduled_for, case first.status when 'held' then first.gate end as held_by, first.labels, null::jsonb as waits
  from (select q.name as queue, q.first_partition, p as partition from pgsched.queues q, pgsched_internal.partitions_of(q.first_partition) p
         where %(queue)s::text is null or q.name = %(queue)s) home
 cross join lateral (
   select r.id, r.client_id, r.key, r.job_id, r.target, r.payload, r.scheduled_for, r.fire_at, r.attempt, r.created_at, r.reason, r.options,
          r.ordering_key, r.lease_owner, r.lease_expires_at, r.gate, r.labels,
          case when r.lease_expires_at is not null then 'running' when r.fire_at = 'infinity' then 'held' when r.attempt > 0 then 'retrying'
               else 'scheduled' end as status
     from pgsched.executions r where r.partition = home.partition{clauses} order by r.id{order} limit %(limit)s) first
