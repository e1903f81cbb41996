-- What can be seen now, by the numbers of transactions, and when that is. Reads no table, and gives the reader no number.
select pg_catalog.pg_current_snapshot()::text as snapshot, pg_catalog.date_part('epoch', pg_catalog.clock_timestamp())::bigint as at
