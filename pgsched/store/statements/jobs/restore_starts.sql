-- claim: gives those of these claimed rows that were put off without their waiting being told the start back that they had before.
-- Index: the primary key.
update pgsched_internal.executions_{p} e set fire_at = coalesce(e.start_at, e.scheduled_for), gate = null, reason = null
 where e.id = any (%(ids)s) and e.gate = 'busy'
returning e.id
