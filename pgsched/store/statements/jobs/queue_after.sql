-- claim: hands back a claimed row that follows a run of another job, to be held until that run ends. Does not lock that
-- run. Instead, leaves a note: after this transaction commits, workers mark the run, or its end, as awaited. A row
-- whose job was changed meanwhile plans no successor when its turn comes. Fenced by the token. Index: the primary key.
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
