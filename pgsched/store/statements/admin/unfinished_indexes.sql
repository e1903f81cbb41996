-- migrate: unfinished indexes on pgsched's tables: indexes of constraints and partitions, and leftovers of a concurrent
-- reindex. The second column is true for leftovers. Locks nothing.
select i.indexrelid::regclass::text, x.relname ~ '_cc(new|old)[0-9]*$'
  from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indrelid join pg_catalog.pg_class x on x.oid = i.indexrelid
 where c.relnamespace in ('pgsched'::regnamespace, 'pgsched_internal'::regnamespace) and c.relkind <> 'p' and not (i.indisvalid and i.indisready)
   and (x.relname ~ '_cc(new|old)[0-9]*$' or exists (select from pg_catalog.pg_inherits h where h.inhrelid = i.indexrelid)
        or exists (select from pg_catalog.pg_constraint k where k.conindid = i.indexrelid))
 order by 1
