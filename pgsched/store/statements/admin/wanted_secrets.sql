-- Secrets that attempts name, as they are sealed; by the primary key. Those that are not there are left out.
select s.client_id, s.name, s.sealed, s.hosts
  from unnest(%(clients)s::text[], %(names)s::text[]) as w (client_id, name)
  join pgsched_internal.secrets s using (client_id, name)
