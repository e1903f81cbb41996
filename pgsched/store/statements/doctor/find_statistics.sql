-- doctor: puts the schema of the extension pg_stat_statements on the search_path until the transaction ends. Returns no
-- row if the extension is not installed in this database or is not loaded.
select pg_catalog.set_config('search_path', pg_catalog.format('pg_catalog, %%I, pg_temp', n.nspname), true)
  from pg_catalog.pg_extension e join pg_catalog.pg_namespace n on n.oid = e.extnamespace
 where e.extname = 'pg_stat_statements' and pg_catalog.current_setting('pg_stat_statements.max', true) is not null
