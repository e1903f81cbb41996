-- Takes from PUBLIC what any login could fill the server with, in a database whose server is pgsched's own: the table of locks by advisory locks, large
-- objects (each one that is dropped is a lock), temporary tables, and locks of tables that it may not read (pg_partition_tree, table_to_xmlschema); the
-- write-ahead log, and so the disk, by messages; the directory of snapshots by files. Who works for pgsched keeps these, for handlers
-- may use them; whoever else needs one is granted it. Run by a superuser, after the roles are made; harmless when repeated.
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

-- The table is the server's: what cannot be taken here must not be taken from the databases beside this one.
revoke connect, temporary on database postgres, template1 from public;
