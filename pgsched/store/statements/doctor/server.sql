-- doctor: the server's version, whether pgsched's version table exists, and whether it is readable. Locks nothing.
select pg_catalog.current_setting('server_version'), v.oid is not null,
       v.oid is not null and pg_catalog.has_schema_privilege(v.relnamespace, 'usage') and pg_catalog.has_table_privilege(v.oid, 'select')
  from (values (1)) as one
  left join (pg_catalog.pg_class v join pg_catalog.pg_namespace n on n.oid = v.relnamespace and n.nspname = 'pgsched')
    on v.relname = 'schema_version'
