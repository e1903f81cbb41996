-- The settings of clients, ordered by name, starting after a name or at a name. Only the last characters of signing
-- secrets are shown. Index: the primary key.
select c.client_id as client, c.keep::text, c.options, c.weight, c.state, c.reason, c.database_role::text, c.channels, c.dead_letter_target,
       c.dead_letters_for, c.late_after, c.on_time_share, c.created_at,
       coalesce((select jsonb_agg(jsonb_build_object('hint', s.hint, 'valid_until', s.valid_until))
                   from pgsched.signing_secrets(c.client_id) s), '[]') as signing_secrets
  from pgsched.clients c
 where (%(client)s::text is null or c.client_id = %(client)s) and (%(after)s::text is null or c.client_id > %(after)s)
   and (%(start)s::text is null or c.client_id >= %(start)s)
 order by c.client_id limit %(limit)s
