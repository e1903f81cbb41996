-- status: prepared transactions that have not ended, oldest first. Locks nothing.
select p.gid, p.owner::text, p.prepared from pg_catalog.pg_prepared_xacts p
 where p.database = pg_catalog.current_database() order by p.prepared limit 20
