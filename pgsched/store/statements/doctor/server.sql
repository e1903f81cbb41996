-- doctor: the server's version, and whether pgsched's table of versions is there and may be read. Locks nothing.
select pg_catalog.current_setting('server_version'),
       coalesce(pg_catalog.has_schema_privilege(pg_catalog.to_regnamespace('pgsched'), 'usage')
                and pg_catalog.has_table_privilege(pg_catalog.to_regclass('pgsched.schema_version'), 'select'), false)
