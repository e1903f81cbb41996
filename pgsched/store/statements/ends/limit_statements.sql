-- call: limits the duration of each statement until the end of the transaction.
select pg_catalog.set_config('statement_timeout', %(milliseconds)s, true)
