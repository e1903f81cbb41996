-- park: a row that cannot even be held ends as failed, without what it carries. Fenced by the token; index: the primary key.
with parked as materialized (
  select e.id from pgsched_internal.executions_{p} e
   where e.id = any (array[%(id)s::uuid]) and e.lease_token is not distinct from %(token)s::bigint for update
)
select pgsched_internal.bury({p}::smallint, id, %(reason)s) from parked
