-- culprits: until the end of the transaction nothing is waited for long; one row after the other may have to be tried.
select pg_catalog.set_config('lock_timeout', '10ms', true), pg_catalog.set_config('statement_timeout', %(limit)s, true)
