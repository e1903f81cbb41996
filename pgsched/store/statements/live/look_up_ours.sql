-- settle: in a handler's transaction nothing of ours is looked up by the session's search_path, which is kept meanwhile.
select pg_catalog.set_config('pgsched.search_path', pg_catalog.current_setting('search_path'), true),
       pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)
