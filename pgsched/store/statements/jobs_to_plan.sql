-- plan: jobs whose newest revision has no row yet. Locks the jobs it takes; skips those another planner has.
-- Index: jobs_unplanned.
select j.id, j.cron, j.timezone, j.every, j.anchor, j.gap, j.overlap, j.planned_revision,
       j.client_id as client, j.key, j.rules, j.runs, j.paused_at, j.accounted_to, j.updated_at, j.revision,
       pgsched_internal.partition_of(j) as partition
  from pgsched.jobs j
 where j.state = 'active' and j.planned_revision <> j.revision
 order by j.id limit %(batch)s for update skip locked
