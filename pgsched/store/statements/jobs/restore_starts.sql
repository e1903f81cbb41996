-- claim: restores the starts of the claimed rows that were put off with the mark 'busy', so that these rows do not seem
-- to have waited. Index: the primary key.
update pgsched_internal.executions_{p} e set fire_at = coalesce(e.start_at, e.scheduled_for), gate = null, reason = null
 where e.id = any (%(ids)s) and e.gate = 'busy'
returning e.id
