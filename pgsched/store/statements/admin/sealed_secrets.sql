-- The next thousand secrets and valid signing secrets, still sealed, in order, starting after a given one.
select s.client_id, s.name, s.sealed
  from (select client_id, name, sealed from pgsched_internal.secrets
        union all
        select client_id, %(signing)s::text, sealed from pgsched_internal.signing_secrets where valid_until is null or valid_until > pgsched.now()) s
 where (s.client_id, s.name, s.sealed) > (%(client)s, %(name)s, %(sealed)s::bytea) order by s.client_id, s.name, s.sealed limit 1000
