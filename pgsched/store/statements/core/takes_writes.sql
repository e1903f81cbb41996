-- Checks whether the database accepts writes. A replica and a read-only database do not.
select not pg_catalog.pg_is_in_recovery() and pg_catalog.current_setting('transaction_read_only') = 'off'
