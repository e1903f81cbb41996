-- claim: moves to history, as skipped, the claimed rows that do not run. A row that covers several instants records
-- their number and the last of them. Fenced by the claim's token. Index: the primary key.
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
