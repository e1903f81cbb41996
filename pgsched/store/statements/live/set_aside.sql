-- park: a row for whose sake a batch failed is held, and says why, until its owner deals with it. What it carries is not
-- looked at. A planned row's job is invalid with it, unless somebody has it locked: then it has none to carry it on, and the
-- sweep takes it up; one that has run has its successor already. No attempt is counted. Fenced by the token, null for a row that waits; index: the primary key.
with held as (
  update pgsched_internal.executions_{p} e
     set scheduled_for = coalesce(e.scheduled_for, case when e.fire_at between '0001-01-01 00:00+00' and '9999-12-31 00:00+00' then e.fire_at end),
         fire_at = 'infinity', gate = 'error', reason = %(reason)s, at_head = null,
         attempt = greatest(e.attempt - (e.lease_token is not null)::integer, 0),
         lease_owner = null, lease_token = null, lease_expires_at = null,
         plan = case when %(with_job)s then e.plan else -abs(e.plan) end
   where e.id = any (array[%(id)s::uuid]) and e.lease_token is not distinct from %(token)s::bigint
  returning e.id, e.job_id, e.plan
), stopped as (
  update pgsched.jobs j set state = 'invalid', reason = %(reason)s, updated_at = pgsched.now()
   where j.id = any (array(select o.id from pgsched.jobs o
                            where o.id = any (array(select h.job_id from held h where h.plan > 0)) and o.state = 'active'
                              and %(with_job)s for no key update skip locked))
)
select id from held
