-- park: holds a row that made a batch fail, with the reason, until its owner deals with it. Fenced by the token, which
-- is null for a waiting row. Locks the row, and then its job unless another transaction has locked the job. Index: the
-- primary key.
with parked as materialized (
  select e.id from pgsched_internal.executions_{p} e
   where e.id = any (array[%(id)s::uuid]) and e.lease_token is not distinct from %(token)s::bigint for update
)
select pgsched_internal.set_aside({p}::smallint, id, %(reason)s, %(with_job)s) from parked
