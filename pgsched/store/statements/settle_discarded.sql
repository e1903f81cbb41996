-- settle: the succeeded rows of one partition whose client keeps no history of them. A row with a key is kept all
-- the same, for the key's own term. Fenced by the token; index: the primary key.
with settled as (
  delete from pgsched.executions e
   where e.partition = %(partition)s and e.id = any (%(ids)s) and e.lease_token = any (%(tokens)s)
  returning e.*
), kept as (
  insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, job_id, status, partition, attempt,
                               client_id, target, key, ordering_key)
  select pgsched.now(), fire_at, coalesce(scheduled_for, fire_at), created_at, id, job_id, 'succeeded', partition,
         attempt, client_id, target, key, ordering_key
    from settled where key is not null
)
select count(*) from settled
