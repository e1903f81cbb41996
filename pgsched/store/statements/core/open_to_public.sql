-- Checks whether any login may exhaust the server from this database: its lock table (by temporary tables, advisory
-- locks, large objects or locks on many tables), its write-ahead log (by messages), or its directory of snapshots.
-- Reads catalogues by their indexes; locks nothing.
select pg_catalog.has_database_privilege('public', pg_catalog.current_database(), 'temporary')
    or exists (
         select from pg_catalog.pg_proc p
          where p.proname operator(pg_catalog.=) any (array[
                  'pg_advisory_lock', 'pg_advisory_lock_shared', 'pg_advisory_xact_lock', 'pg_advisory_xact_lock_shared',
                  'pg_try_advisory_lock', 'pg_try_advisory_lock_shared', 'pg_try_advisory_xact_lock', 'pg_try_advisory_xact_lock_shared',
                  'lo_create', 'lo_creat', 'lo_from_bytea',
                  'pg_logical_emit_message', 'pg_export_snapshot', 'pg_partition_tree', 'table_to_xmlschema',
                  'table_to_xml_and_xmlschema']::pg_catalog.name[])
            and p.pronamespace operator(pg_catalog.=) 'pg_catalog'::pg_catalog.regnamespace
            and pg_catalog.has_function_privilege('public', p.oid, 'execute'))
