-- What a database is set to that pgsched cannot do with, or has no rights to set for its sessions. The function's language
-- has settings of its own, which are there once it was used. Locks nothing; uses no index.
select pg_catalog.current_setting('server_version_num')::pg_catalog.int4 / 10000,
       pg_catalog.current_setting('server_encoding'),
       pg_catalog.pg_is_in_recovery(),
       pg_catalog.current_setting('transaction_read_only') = 'on',
       pg_catalog.current_setting('session_replication_role'),
       coalesce(pg_catalog.current_setting('plpgsql.variable_conflict', true), 'error'),
       coalesce(pg_catalog.current_setting('plpgsql.extra_errors', true), 'none')
