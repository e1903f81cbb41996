-- API keys, ordered by id. Index: the primary key.
select k.id, k.subject, k.clients, k.scopes, k.created_at, k.expires_at, k.last_used_at, k.revoked_at, k.former_until,
       k.rate, k.burst
  from pgsched_internal.api_keys k
 where (%(id)s::text is null or k.id = %(id)s) and (%(after)s::text is null or k.id > %(after)s)
 order by k.id limit %(limit)s
