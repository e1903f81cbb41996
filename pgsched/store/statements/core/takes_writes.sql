-- Whether the database takes writes: a replica does not, nor one that is set to read only.
select not pg_catalog.pg_is_in_recovery() and pg_catalog.current_setting('transaction_read_only') = 'off'
