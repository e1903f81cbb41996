-- culprits: limits the time of lock waits and statements until the end of the transaction, because rows may have to be
-- tried singly.
select pg_catalog.set_config('lock_timeout', '10ms', true), pg_catalog.set_config('statement_timeout', %(limit)s, true)
