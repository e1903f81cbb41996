-- hold: an execution that another gate has just been given stays at the one it was taken from. Index: the primary key.
update pgsched_internal.executions_{p} e
   set gate = %(gate)s, waits = pgsched_internal.held(e.waits - (-1), %(gate)s, e.fire_at)
 where e.id = any (array[%(id)s::uuid]) and e.lease_token is null and e.fire_at = 'infinity' and e.gate <> 'order'
