-- bulk: a job's recurrence. Locks nothing. Index: the primary key.
select j.id, j.cron, j.every, j.timezone, j.gap, j.overlap, j.anchor, j.rules, j.client_id as client, j.key
  from pgsched.jobs j where j.id = %(job)s
