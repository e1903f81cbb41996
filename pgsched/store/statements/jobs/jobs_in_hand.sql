-- plan: what claimed rows are carried on by: the definitions of their jobs as they are now, which may be at a later
-- revision than the row. Locks nothing: the insert looks again. Index: the primary key.
select j.id, j.revision, j.cron, j.timezone, j.gap, j.overlap, (extract(epoch from j.every) * 1000000)::bigint, j.anchor,
       j.client_id, j.key, j.rules, j.exceptions
  from pgsched.jobs j
 where j.id = any (%(jobs)s)
