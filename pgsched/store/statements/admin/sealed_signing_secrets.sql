-- All signing secrets that are valid, as they are sealed, in the order of the primary key: the next thousand behind one.
select client_id, %(name)s::text as name, sealed from pgsched_internal.signing_secrets
 where (client_id, sealed) > (%(client)s, %(sealed)s::bytea) and (valid_until is null or valid_until > pgsched.now())
 order by client_id, sealed limit 1000
