-- client, name: puts what was sealed anew in the place of what was there, unless that has changed.
select pgsched_internal.reseal(%(client)s, %(name)s, %(before)s::bytea, %(after)s::bytea)
