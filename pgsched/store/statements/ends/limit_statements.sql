-- call: until the end of the transaction a statement is ended after so many milliseconds.
select pg_catalog.set_config('statement_timeout', %(milliseconds)s, true)
