-- plan: the current definitions of claimed rows' jobs, from which their successors are planned. A definition may be
-- newer than its row. Locks nothing, because the insert checks the revision again. Index: the primary key.
select j.id, j.revision, j.cron, j.timezone, j.gap, j.overlap, (extract(epoch from j.every) * 1000000)::bigint, j.anchor,
       j.client_id, j.key, j.rules, j.exceptions
  from pgsched.jobs j
 where j.id = any (%(jobs)s)
