-- settle: names are looked up again as the handler's session had it.
select pg_catalog.set_config('search_path', pg_catalog.current_setting('pgsched.search_path'), true)
