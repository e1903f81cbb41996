-- Takes from PUBLIC what any login could fill the server's table of locks with, in a database whose server is pgsched's own: advisory
-- locks, large objects (each one that is dropped is a lock) and temporary tables. Who works for pgsched keeps them, for handlers
-- may use them; whoever else needs one is granted it. Run by a superuser, after the roles are made; harmless when repeated.
do $$
declare
  takes pg_catalog.regprocedure;
begin
  foreach takes in array array[
    'pg_catalog.pg_advisory_lock(bigint)', 'pg_catalog.pg_advisory_lock(int, int)',
    'pg_catalog.pg_advisory_lock_shared(bigint)', 'pg_catalog.pg_advisory_lock_shared(int, int)',
    'pg_catalog.pg_advisory_xact_lock(bigint)', 'pg_catalog.pg_advisory_xact_lock(int, int)',
    'pg_catalog.pg_advisory_xact_lock_shared(bigint)', 'pg_catalog.pg_advisory_xact_lock_shared(int, int)',
    'pg_catalog.pg_try_advisory_lock(bigint)', 'pg_catalog.pg_try_advisory_lock(int, int)',
    'pg_catalog.pg_try_advisory_lock_shared(bigint)', 'pg_catalog.pg_try_advisory_lock_shared(int, int)',
    'pg_catalog.pg_try_advisory_xact_lock(bigint)', 'pg_catalog.pg_try_advisory_xact_lock(int, int)',
    'pg_catalog.pg_try_advisory_xact_lock_shared(bigint)', 'pg_catalog.pg_try_advisory_xact_lock_shared(int, int)',
    'pg_catalog.lo_create(oid)', 'pg_catalog.lo_creat(int)', 'pg_catalog.lo_from_bytea(oid, bytea)'
  ]::pg_catalog.regprocedure[] loop
    execute pg_catalog.format('revoke execute on function %s from public', takes);
    execute pg_catalog.format('grant execute on function %s to pgsched_owner, pgsched_worker', takes);
  end loop;
  execute pg_catalog.format('revoke temporary on database %I from public', pg_catalog.current_database());
  execute pg_catalog.format('grant temporary on database %I to pgsched_owner, pgsched_worker', pg_catalog.current_database());
end $$;

-- The table is the server's: what cannot be taken here must not be taken from the databases beside this one.
revoke connect, temporary on database postgres, template1 from public;
