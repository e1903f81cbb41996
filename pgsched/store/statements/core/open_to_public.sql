-- Whether any login may fill the server's table of locks from this database, by a temporary table, an advisory lock or a large object
-- after the other. Reads catalogues by their indexes, and locks nothing.
select pg_catalog.has_database_privilege('public', pg_catalog.current_database(), 'temporary')
    or exists (
         select from pg_catalog.pg_proc p
          where p.proname operator(pg_catalog.=) any (array[
                  'pg_advisory_lock', 'pg_advisory_lock_shared', 'pg_advisory_xact_lock', 'pg_advisory_xact_lock_shared',
                  'pg_try_advisory_lock', 'pg_try_advisory_lock_shared', 'pg_try_advisory_xact_lock', 'pg_try_advisory_xact_lock_shared',
                  'lo_create', 'lo_creat', 'lo_from_bytea']::pg_catalog.name[])
            and p.pronamespace operator(pg_catalog.=) 'pg_catalog'::pg_catalog.regnamespace
            and pg_catalog.has_function_privilege('public', p.oid, 'execute'))
