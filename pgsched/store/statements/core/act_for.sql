-- For whom the API's session, or this transaction of it, acts from now on: clients (null: all), whether it administers, who asks.
select pg_catalog.set_config('pgsched.api_clients', coalesce(%(clients)s::text[]::text, 'all'), %(local)s), pg_catalog.set_config('pgsched.api_admin', %(admin)s, %(local)s),
       pg_catalog.set_config('pgsched.api_subject', %(subject)s, %(local)s)
