-- plan: what the successors of claimed rows are planned by: the definitions of jobs still at the claimed row's revision.
-- Locks nothing: the insert looks again. Index: the primary key.
select j.id, j.revision, j.cron, j.timezone, j.gap, j.overlap, (extract(epoch from j.every) * 1000000)::bigint, j.anchor,
       j.client_id, j.key, j.rules
  from unnest(%(jobs)s, %(revisions)s) as c(id, revision)
  join pgsched.jobs j on j.id = any (array[c.id]) and j.revision = c.revision
 where j.state = 'active'
