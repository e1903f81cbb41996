-- plan: the definitions by which the successors of claimed rows are planned. Share-locked until the claim commits, so
-- that an edit is either seen here or waits and plans by itself. Only jobs still at the claimed row's revision.
select j.id, j.cron, j.timezone, j.every, j.anchor, j.gap, j.overlap, j.planned_revision from pgsched.jobs j
  join unnest(%(jobs)s::uuid[], %(revisions)s::int[]) as c(id, revision) on c.id = j.id and c.revision = j.revision
 where j.state = 'active' order by j.id for share of j
