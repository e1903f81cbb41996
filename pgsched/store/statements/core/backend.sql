-- The server process that currently serves this session.
select pg_catalog.pg_backend_pid()
