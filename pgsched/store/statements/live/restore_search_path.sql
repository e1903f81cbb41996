-- settle: restores the search_path of the handler's session.
select pg_catalog.set_config('search_path', pg_catalog.current_setting('pgsched.search_path'), true)
