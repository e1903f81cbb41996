-- Whether the database accepts writes: a replica does not, nor does a read-only database.
select not pg_catalog.pg_is_in_recovery() and pg_catalog.current_setting('transaction_read_only') = 'off'
