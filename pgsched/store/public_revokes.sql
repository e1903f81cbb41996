-- Revokes from PUBLIC the rights with which any login could exhaust a server that pgsched runs itself:
-- - the lock table: by advisory locks, large objects (dropping one takes a lock), temporary tables, and functions that
--   lock tables that the login may not read (pg_partition_tree, table_to_xmlschema)
-- - the write-ahead log, and with it the disk: by messages
-- - the directory of snapshots: by exported snapshots
-- pgsched's own roles keep these rights, because handlers may use them. Any other role must be granted what it needs. A
-- superuser runs this script after the roles have been created; it may be run again.
do $$
declare
  takes pg_catalog.regprocedure;
begin
  for takes in
    select p.oid from pg_catalog.pg_proc p
     where p.pronamespace = 'pg_catalog'::pg_catalog.regnamespace
       and (p.proname ~ '^pg_(try_)?advisory_(xact_)?lock(_shared)?$' or p.proname in ('lo_create', 'lo_creat', 'lo_from_bytea',
            'pg_logical_emit_message', 'pg_export_snapshot', 'pg_partition_tree', 'table_to_xmlschema', 'table_to_xml_and_xmlschema'))
  loop
    execute pg_catalog.format('revoke execute on function %s from public', takes);
    execute pg_catalog.format('grant execute on function %s to pgsched_owner, pgsched_worker', takes);
  end loop;
  execute pg_catalog.format('revoke temporary on database %I from public', pg_catalog.current_database());
  execute pg_catalog.format('grant temporary on database %I to pgsched_owner, pgsched_worker', pg_catalog.current_database());
end $$;

-- All databases of the server share the lock table, so other logins must be kept out of these databases too.
revoke connect, temporary on database postgres, template1 from public;
