-- tzdata: locks these jobs, so that they cannot be planned, edited or paused meanwhile. Skips jobs that another
-- transaction has locked. Index: the primary key.
select j.id, j.cron, j.every, j.timezone, j.gap, j.overlap, j.anchor, j.rules, j.exceptions, j.client_id as client, j.key
  from pgsched.jobs j where j.id = any (%(jobs)s) and j.state = 'active' order by j.id for update skip locked
