-- The jobs that this declaration has created, and the jobs under these keys. Locks and writes nothing. Indexes:
-- jobs_declared, jobs_client_key.
select j.id, j.client_id::text as client, j.key::text, j.declared_by
  from pgsched.jobs j
 where j.state <> 'cancelled' and j.declared_by = %(declared_by)s
union
select j.id, j.client_id::text, j.key::text, j.declared_by
  from unnest(%(clients)s::text[], %(keys)s::text[]) as named (client, key)
  join pgsched.jobs j on j.client_id = named.client and j.key = named.key
 where j.state <> 'cancelled'
 order by 2, 3
