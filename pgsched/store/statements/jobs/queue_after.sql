-- claim: gives back a claimed row that comes after a run of another job, to be held until that one ends. That run is not locked: it is
-- noted to be marked as awaited, or its end, and workers do so once this is committed. A row whose job was changed meanwhile carries
-- nothing on when its turn comes. Fenced by the token; index: the primary key.
with waits as (
  update pgsched_internal.executions_{p} e
     set fire_at = 'infinity', lease_owner = null, lease_token = null, lease_expires_at = null, attempt = e.attempt - 1,
         plan = case when %(carries_on)s then e.plan else -abs(e.plan) end
   where e.id = %(id)s and e.lease_token = %(token)s
  returning e.id
), noted as (
  insert into pgsched_internal.ends_to_mark (execution_id, after_id) select id, %(after)s from waits on conflict do nothing
)
insert into pgsched.dependencies (execution_id, after_id, outcome) select id, %(after)s, 'any' from waits on conflict do nothing
