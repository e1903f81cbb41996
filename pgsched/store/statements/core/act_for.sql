-- Sets the clients (null: all) for which the API's session or its current transaction acts, whether it has admin
-- rights, and the subject of the request.
select pg_catalog.set_config('pgsched.api_clients', coalesce(%(clients)s::text[]::text, 'all'), %(local)s), pg_catalog.set_config('pgsched.api_admin', %(admin)s, %(local)s),
       pg_catalog.set_config('pgsched.api_subject', %(subject)s, %(local)s)
