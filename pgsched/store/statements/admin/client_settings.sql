-- What a worker needs to know about clients: what history they keep, the default options of their executions, their
-- weight, the role that their functions run as, the channels that their targets may use, and their signing secrets (the
-- current secret first, then former secrets that are still valid).
select c.client_id, c.keep::text, c.options, c.weight, c.channels,
       case when not pgsched_internal.is_privileged(c.database_role) then c.database_role::text end as database_role,
       array(select s.sealed from pgsched_internal.signing_secrets s
              where s.client_id = c.client_id and (s.valid_until is null or s.valid_until > pgsched.now())
              order by s.valid_until desc nulls first) as signing_secrets
  from pgsched.clients c
