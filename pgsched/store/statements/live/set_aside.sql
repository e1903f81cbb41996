-- park: a row for whose sake a batch failed is held, and says why, until its owner deals with it.
-- Fenced by the token, null for a row that waits; locks the row, and then its job unless somebody has it; index: the primary key.
with parked as materialized (
  select e.id from pgsched_internal.executions_{p} e
   where e.id = any (array[%(id)s::uuid]) and e.lease_token is not distinct from %(token)s::bigint for update
)
select pgsched_internal.set_aside({p}::smallint, id, %(reason)s, %(with_job)s) from parked
