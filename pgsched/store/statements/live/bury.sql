-- park: a row that cannot even be held ends as failed, without what it carries. Fenced by the token; index: the primary key.
with gone as (
  delete from pgsched_internal.executions_{p} e
   where e.id = any (array[%(id)s::uuid]) and e.lease_token is not distinct from %(token)s::bigint
  returning e.id, e.created_at, e.job_id, e.partition, e.client_id, e.target, e.key, e.ordering_key, e.awaited
)
insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, job_id, status, partition, attempt,
                             client_id, target, key, ordering_key, awaited, reason)
select pgsched.now(), pgsched.now(), pgsched.now(), created_at, id, job_id, 'failed', partition, 0, client_id, target, key,
       ordering_key, awaited, %(reason)s
  from gone
returning id
