-- The secrets to which attempts refer, still sealed. Missing secrets are left out. Index: the primary key.
select s.client_id, s.name, s.sealed, s.hosts
  from unnest(%(clients)s::text[], %(names)s::text[]) as w (client_id, name)
  join pgsched_internal.secrets s using (client_id, name)
