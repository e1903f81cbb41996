-- claim: claimed rows that do not run enter history as skipped. One that stands for several instants says for how
-- many, and which is the last. Fenced by the claim's token; index: the primary key.
with passed as (
  select * from unnest(%(ids)s::uuid[], %(lasts)s::timestamptz[], %(counts)s::bigint[], %(reasons)s::text[])
             as o(id, last_scheduled_for, instants, why)
), gone as (
  delete from pgsched_internal.executions_{p} e using passed o
   where e.id = any (array[o.id]) and e.lease_token = %(token)s
  returning e.*, o.last_scheduled_for, nullif(o.instants, 1) as instants, o.why
)
insert into pgsched.history (finished_at, fire_at, scheduled_for, last_scheduled_for, created_at, instants, id, job_id,
                             status, plan, partition, attempt, client_id, target, payload, options, key, ordering_key, awaited, reason)
select pgsched.now(), fire_at, scheduled_for, case when instants is not null then last_scheduled_for end, created_at,
       instants, id, job_id, 'skipped', plan, partition, attempt - 1, client_id, target, payload, options, key, ordering_key,
       awaited, why
  from gone
