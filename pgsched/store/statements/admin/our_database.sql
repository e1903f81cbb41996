-- up: returns a row if the server has the database pgsched. Index: pg_database_datname_index.
select from pg_catalog.pg_database where datname = 'pgsched'
