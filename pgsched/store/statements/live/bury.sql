-- park: fails a row that cannot even be held, and drops its contents. Fenced by the token. Index: the primary key.
with parked as materialized (
  select e.id from pgsched_internal.executions_{p} e
   where e.id = any (array[%(id)s::uuid]) and e.lease_token is not distinct from %(token)s::bigint for update
)
select pgsched_internal.bury({p}::smallint, id, %(reason)s) from parked
