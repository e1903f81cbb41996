-- claim: claimed rows that do not run enter history as skipped. One that stands for several instants says for how
-- many, and which is the last. Fenced by the claim's token; index: the primary key.
with passed as (
  select * from unnest(%(ids)s::uuid[], %(lasts)s::timestamptz[], %(counts)s::bigint[], %(reasons)s::text[])
             as o(id, last, instants, why)
), gone as (
  delete from pgsched_internal.executions_{p} e using passed o
   where e.id = any (array[o.id]) and e.lease_token = %(token)s
  returning e::pgsched.executions as execution, o.*
)
select pgsched_internal.end_execution(execution, 'skipped', why, case when instants > 1 then last end, nullif(instants, 1), begun => false)
  from gone
