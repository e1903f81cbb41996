-- gates: sets fire_at of claimed rows to the later time at which a gate lets them pass. Until then, the rows have not
-- begun and can be changed. Fenced by the token. Index: the primary key; "any (array[…])" prevents a merge join, which
-- would read the index whole.
update pgsched_internal.executions_{p} e set fire_at = a.start, scheduled_for = coalesce(e.scheduled_for, e.fire_at)
  from unnest(%(ids)s, %(starts)s) as a(id, start)
 where e.id = any (array[a.id]) and e.lease_token = any (%(tokens)s)
