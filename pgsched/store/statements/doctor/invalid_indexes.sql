-- doctor: unfinished indexes on pgsched's tables. PostgreSQL does not use them. Locks nothing.
select i.indexrelid::pg_catalog.regclass::text from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indrelid
 where c.relnamespace in ('pgsched'::regnamespace, 'pgsched_internal'::regnamespace) and not (i.indisvalid and i.indisready)
 order by 1 limit %(most)s
