-- renew: has a leased row that has not begun follow the job that was changed since it was planned. Waits for no lock. Index: the primary keys.
select pgsched_internal.recall(%(partition)s::smallint, r.id, r.token)
  from unnest(%(ids)s::uuid[], %(tokens)s::bigint[]) as r(id, token)
