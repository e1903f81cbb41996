-- client: puts what was sealed anew in the place of what was there, unless that has ended.
select pgsched_internal.reseal_signing(%(client)s, %(before)s::bytea, %(after)s::bytea)
