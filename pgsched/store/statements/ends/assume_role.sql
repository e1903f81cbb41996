-- call: until the end of the transaction the session acts as this role.
select pg_catalog.set_config('role', %(role)s, true)
