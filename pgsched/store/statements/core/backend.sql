-- The process of the server that this session has just now.
select pg_catalog.pg_backend_pid()
