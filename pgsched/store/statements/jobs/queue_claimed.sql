-- claim: hands back a claimed row whose job's previous run is not over, to be held until that run ends. If the run has
-- just ended, changes nothing. A row whose job was changed meanwhile plans no successor when its turn comes. Locks the
-- previous run, unless another transaction has locked it. The statement that settles the run waits for this
-- transaction, and then finds the run marked as awaited. Index: the primary key.
with earlier as (
  update pgsched_internal.executions_{p} e set awaited = true
   where e.id = any (array(select o.id from pgsched_internal.executions_{p} o where o.id = %(earlier)s for update skip locked))
  returning e.id
), waits as (
  insert into pgsched.dependencies (execution_id, after_id, outcome) select %(id)s, earlier.id, 'any' from earlier
  on conflict do nothing
)
update pgsched_internal.executions_{p} e
   set fire_at = 'infinity', lease_owner = null, lease_token = null, lease_expires_at = null, attempt = e.attempt - 1,
       plan = case when %(carries_on)s then e.plan else -abs(e.plan) end
  from earlier where e.id = %(id)s and e.lease_token = %(token)s
returning e.id
