-- status: the transactions that are prepared and not ended, the oldest first. Locks nothing.
select p.gid, p.owner::text, p.prepared from pg_catalog.pg_prepared_xacts p
 where p.database = pg_catalog.current_database() order by p.prepared limit 20
