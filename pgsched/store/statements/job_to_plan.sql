-- plan: one job, in the transaction that made or changed it.
select j.id, j.cron, j.timezone, j.every, j.anchor, j.gap, j.overlap, j.planned_revision from pgsched.jobs j where j.id = %(job)s and j.state = 'active' for update
