-- claim: restores the starts of claimed rows that were put off with the mark 'busy', because these rows did not wait.
-- Index: the primary key.
update pgsched_internal.executions_{p} e set fire_at = coalesce(e.start_at, e.scheduled_for), gate = null, reason = null
 where e.id = any (%(ids)s) and e.gate = 'busy'
returning e.id
