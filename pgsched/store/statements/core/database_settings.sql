-- The settings that can make a database unfit for pgsched, or that pgsched may not change for its sessions. The
-- settings of PL/pgSQL exist only once PL/pgSQL has been loaded. Locks nothing; uses no index.
select pg_catalog.current_setting('server_version_num')::pg_catalog.int4 / 10000,
       pg_catalog.current_setting('server_encoding'),
       pg_catalog.pg_is_in_recovery(),
       pg_catalog.current_setting('transaction_read_only') = 'on',
       pg_catalog.current_setting('session_replication_role'),
       coalesce(pg_catalog.current_setting('plpgsql.variable_conflict', true), 'error'),
       coalesce(pg_catalog.current_setting('plpgsql.extra_errors', true), 'none')
