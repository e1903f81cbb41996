-- plan: one job, in the transaction that made or changed it; not one that is planned already,
-- or that somebody else has locked.
select j.id, j.cron, j.timezone, j.every, j.anchor, j.gap, j.overlap, j.planned_revision,
       j.client_id as client, j.key, j.rules, j.runs, j.paused_at, j.accounted_to, j.updated_at, j.revision,
       pgsched_internal.partition_of(j) as partition
  from pgsched.jobs j where j.id = %(job)s and j.state = 'active' and j.planned_revision <> j.revision for update skip locked
