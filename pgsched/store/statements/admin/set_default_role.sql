-- up: gives the client default a role.
select pgsched.set_client('default', jsonb_build_object('database_role', %(role)s::text))
