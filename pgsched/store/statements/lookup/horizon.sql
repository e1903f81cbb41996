-- Which transactions are visible now, and the time. Reads no table and assigns no transaction id.
select pg_catalog.pg_current_snapshot()::text as snapshot, pg_catalog.date_part('epoch', pg_catalog.clock_timestamp())::bigint as at
