-- tzdata: takes these jobs in hand, so that nobody plans, edits or pauses them meanwhile; skips those that somebody has.
-- Index: the primary key.
select j.id, j.cron, j.every, j.timezone, j.gap, j.overlap, j.anchor, j.rules, j.exceptions, j.client_id as client, j.key
  from pgsched.jobs j where j.id = any (%(jobs)s) and j.state = 'active' order by j.id for update skip locked
