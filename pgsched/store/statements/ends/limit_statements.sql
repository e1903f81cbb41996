-- call: limits each statement to this many milliseconds until the end of the transaction.
select pg_catalog.set_config('statement_timeout', %(milliseconds)s, true)
