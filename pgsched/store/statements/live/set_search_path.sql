-- settle: in a handler's transaction, saves the session's search_path and sets a safe one for our own statements.
select pg_catalog.set_config('pgsched.search_path', pg_catalog.current_setting('search_path'), true),
       pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)
