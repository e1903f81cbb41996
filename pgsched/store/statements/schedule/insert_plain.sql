-- schedule: inserts one-shots that set only the columns listed here, for a role that may not use COPY. Locks no
-- existing rows.
insert into pgsched.executions (target, payload, fire_at, client_id, options)
select o.target, o.payload::jsonb, o.fire_at, o.client, o.options::jsonb
  from unnest(%(target)s::text[], %(payload)s::text[], %(fire_at)s::timestamptz[], %(client)s::text[], %(options)s::text[])
         as o(target, payload, fire_at, client, options)
returning id, 'created'
