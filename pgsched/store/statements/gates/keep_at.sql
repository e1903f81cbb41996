-- hold: an execution that another gate has just been given stays at the one it was taken from. Index: the primary key.
update pgsched_internal.executions_{p} e set gate = %(gate)s
 where e.id = any (array[%(id)s::uuid]) and e.lease_token is null and e.fire_at = 'infinity' and e.gate <> 'order'
