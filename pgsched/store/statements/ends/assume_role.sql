-- call: makes the session act as this role until the end of the transaction.
select pg_catalog.set_config('role', %(role)s, true)
